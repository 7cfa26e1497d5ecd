"""Folders of MNIST's idx files: images and labels, for training and for the test, plain or gzipped.

A file begins with two zero bytes, one for the type (8, unsigned bytes) and one for the number of dimensions; then comes
the size of each of these, four bytes with the highest first; then the values.

Reference: LeCun, Cortes & Burges, "The MNIST database of handwritten digits", 1998.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from lipgnn.catalog import IDX_FILES, is_image_folder
from lipgnn.datasets.limits import open_plain
from lipgnn.datasets.pictures import Pictures
from lipgnn.datasets.source import damaged

_UNSIGNED_BYTES = 8


class Idx:
    """The format."""

    description = "a folder of the four idx files of images and labels"

    def recognizes(self, path: Path) -> bool:
        return is_image_folder(path)

    def read(self, path: Path) -> Pictures:
        return read_idx_folder(path)


def read_idx_folder(path: Path) -> Pictures:
    """The images of a folder: first those for training, then those for the test.

    Raises
    ------
    DataError : a file is missing or damaged, or images and labels do not fit together.
    """
    parts = [_read_part(*(_file(path, name) for name in names)) for names in IDX_FILES.values()]
    (images, labels), (test_images, test_labels) = parts
    if images.shape[1:] != test_images.shape[1:]:
        raise damaged(path, f"images are of shape {images.shape[1:]} for training and {test_images.shape[1:]} for test")
    test = np.arange(len(images) + len(test_images)) >= len(images)
    return Pictures(
        path.name, np.concatenate([images, test_images]), np.concatenate([labels, test_labels]), 255, test, str(path)
    )


def read_idx(path: Path) -> np.ndarray:
    """The array of unsigned bytes in an idx file, which may be gzipped.

    Raises
    ------
    DataError : it is missing, is no idx file of unsigned bytes, or has fewer or more values than it says.
    """
    with open_plain(path) as file:
        zero, kind, dimensions = file.read(2), *file.read(2).ljust(2, b"\xff")
        if zero != b"\0\0" or kind != _UNSIGNED_BYTES or not 1 <= dimensions <= 3:
            raise damaged(path, "it does not begin as an idx file of unsigned bytes does")
        header = file.read(4 * dimensions)
        if len(header) < 4 * dimensions:
            raise damaged(path, "it ends within its header")
        shape = tuple(int.from_bytes(header[4 * k : 4 * k + 4], "big") for k in range(dimensions))
        content = file.read()
    if len(content) != math.prod(shape):
        raise damaged(path, f"it has {len(content):,} values, and its header says {math.prod(shape):,} ({shape})")
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)


def _read_part(images_file: Path, labels_file: Path) -> tuple[np.ndarray, np.ndarray]:
    images, labels = read_idx(images_file), read_idx(labels_file)
    if images.ndim != 3:
        raise damaged(images_file, f"it has {images.ndim} dimensions, and images have 3")
    if labels.shape != images.shape[:1]:
        raise damaged(labels_file, f"it has labels of shape {labels.shape} for {len(images):,} images")
    return images, labels


def _file(folder: Path, name: str) -> Path:
    """The plain file, or the gzipped one where there is no plain one."""
    plain = folder / name
    return plain if plain.exists() else folder / f"{name}.gz"
