"""Images by name or path, in the form and with the split that is asked for: what task images trains on.

NAME[:SIZE][:rotated]: SIZE pools to so many pixels a side, and rotated turns every image by an angle of its own.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lipgnn.catalog import DATASETS, ImagesEntry, dataset_entry, is_image_folder
from lipgnn.datasets.formats.arrays import integers, load_arrays, required
from lipgnn.datasets.formats.idx import Idx, read_idx_folder
from lipgnn.datasets.locate import SHIPS, locate
from lipgnn.datasets.pictures import Pictures
from lipgnn.datasets.source import Split, damaged
from lipgnn.datasets.splits import RANDOM, random_split
from lipgnn.errors import LipgnnError, UsageError

ROTATED = ":rotated"
ANGLES_SEED = 20210504
"""Of the angles of all images of a data set, so that everybody turns them alike."""

_SIZE = re.compile(r"(.+):(\d{1,4})", re.ASCII | re.DOTALL)
_SHARE = 6  # of the images, one in so many is validated on, and as many are tested on where no test part is published


@dataclass(frozen=True, eq=False)
class ImageDataset:
    """Images to learn from.

    Attributes
    ----------
    name : as it was asked for.
    images : (N, S, S) float32 from 0 to 1.
    labels_array : (N,) int64.
    num_classes : how many classes there are.
    split : masks over the images.
    fingerprint : 16 hex digits of the images as they are given, of their form, and of the split.
    """

    name: str
    images: np.ndarray
    labels_array: np.ndarray
    num_classes: int
    split: Split
    fingerprint: str

    task = "images"
    class_names = None

    @property
    def side(self) -> int:
        """How many pixels an image is wide and high."""
        return self.images.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of channels and of classes, for which a network is made."""
        return 1, self.num_classes


def load_images(
    name: str, *, split: str = "public", missing: float = 0.0, features: str = "raw", data_dir: Path | None = None
) -> ImageDataset:
    """Find, read and prepare images; options are those of `lipgnn.datasets.load`.

    Parameters
    ----------
    split : "public" is "random:0". "random:SEED" draws a sixth of the images to validate on, and a sixth to test on
        where no test part is published; "random:SEED:TRAIN:VAL" takes so many of each class instead.

    Raises
    ------
    DataError : data that is missing or damaged.
    UsageError : an unknown name or form, a split that there is not, or options that images do not have.
    """
    for option, value, only in (("missing", missing, 0.0), ("features", features, "raw")):
        if value != only:
            raise UsageError(f"Data set {name!r} has no other {option} than {only!r}, got {value!r}.")
    base, size, rotated = form_of(name)
    pictures = read_pictures(base, data_dir=data_dir)
    if size and pictures.side % size:
        raise UsageError(
            f"Images of {base!r} have {pictures.side} × {pictures.side} pixels and do not pool to {size} × {size}.",
            f"Use a divisor of {pictures.side}.",
        )
    images = pictures.images.astype(np.float32) / pictures.brightest
    images = turned(images) if rotated else images
    chosen = choose_split(pictures, split)
    return ImageDataset(
        name,
        pooled(images, size or pictures.side),
        pictures.labels.astype(np.int64),
        pictures.num_classes,
        chosen,
        _fingerprint(pictures, size, rotated, chosen),
    )


def identify_images(name: str, *, split: str = "public", data_dir: Path | None = None) -> str:
    """The fingerprint that `load_images` gives, without turning or pooling anything; errors as there."""
    base, size, rotated = form_of(name)
    pictures = read_pictures(base, data_dir=data_dir)
    return _fingerprint(pictures, size, rotated, choose_split(pictures, split))


def read_pictures(name_or_path: str | os.PathLike[str], *, data_dir: Path | None = None) -> Pictures:
    """The images of a name or path as they are given; errors as in `load_images`."""
    name = os.fspath(name_or_path)
    path = locate(name_or_path, data_dir=data_dir)
    entry = DATASETS.get(name)
    if isinstance(entry, ImagesEntry) and entry.origin == SHIPS:
        arrays = load_arrays(path)
        try:
            images, labels = required(arrays, "images"), integers(arrays, "labels")
        except ValueError as error:
            raise damaged(path, str(error)) from error
        return Pictures(name, images, labels, entry.brightest, np.zeros(len(labels), dtype=bool), str(path))
    if not is_image_folder(path):
        raise damaged(path, "it is no folder of images", f"Give {Idx.description}.")
    try:
        return read_idx_folder(path)
    except MemoryError as error:
        raise damaged(path, "there is not enough memory to read it") from error


def has_images(name_or_path: str | os.PathLike[str], *, data_dir: Path | None = None) -> bool:
    """Whether a name or path is that of images, judged by names alone, those in the data directory among them."""
    name = os.fspath(name_or_path)
    if (entry := dataset_entry(name)) is not None:
        return entry.task == ImageDataset.task
    try:
        return is_image_folder(locate(form_of(name)[0], data_dir=data_dir))
    except LipgnnError:
        return False


def form_of(name: str) -> tuple[str, int, bool]:
    """The name or path of images, the side that they are pooled to (0: none), and whether each is turned.

    Raises
    ------
    UsageError : images of no pixels.
    """
    base = name.removesuffix(ROTATED)
    match = _SIZE.fullmatch(base)
    if match and not int(match[2]):
        raise UsageError(f"{name!r} asks for images without a pixel.", "Name a size from 1 on.")
    return (match[1], int(match[2]), base != name) if match else (base, 0, base != name)


def turned(images: np.ndarray) -> np.ndarray:
    """Every image turned by an angle of its own, uniform in 0 to 360 degrees, by linear interpolation.

    What was outside the image is 0. An image has the same angle in every split, so that none is seen at two.
    """
    from scipy import ndimage

    # RandomState's stream is frozen by numpy's compatibility policy, so the angles are the same for ever.
    angles = np.random.RandomState(ANGLES_SEED).uniform(0, 360, len(images))
    return np.stack(
        [ndimage.rotate(image, angle, order=1, reshape=False) for image, angle in zip(images, angles, strict=True)]
    )


def pooled(images: np.ndarray, side: int) -> np.ndarray:
    """Images (N, S, S) of the means over squares of pixels, (N, side, side)."""
    width = images.shape[1] // side
    return images if width == 1 else images.reshape(len(images), side, width, side, width).mean(axis=(2, 4))


def choose_split(pictures: Pictures, split: str) -> Split:
    """The split of that name, with a part to validate on in any case; see `load_images`.

    Raises
    ------
    UsageError : no such split, or a class too small for it.
    """
    match = RANDOM.fullmatch("random:0" if split == "public" else split)
    if not match:
        raise UsageError(
            f"Data set {pictures.name!r} has no split {split!r}.",
            "Available: public, random:SEED, random:SEED:TRAIN:VAL.",
        )
    open_ = np.flatnonzero(~pictures.test)
    published = np.flatnonzero(pictures.test)
    if match[2]:
        drawn = random_split(pictures.labels[open_].astype(np.int64), int(match[1]), int(match[2]), int(match[3]))
        train, val, test = (open_[mask] for mask in drawn.parts.values())
    else:
        count = len(open_) // _SHARE
        order = np.random.RandomState(int(match[1])).permutation(open_)
        val, test, train = np.split(order, [count, count if len(published) else 2 * count])
    test = published if len(published) else test
    if not len(val):
        raise UsageError(f"Split {split!r} has nothing to validate on.", "Ask for one image a class at least.")
    return Split.of_indices(len(pictures.labels), train, val, test)


def _fingerprint(pictures: Pictures, size: int, rotated: bool, split: Split) -> str:
    # Turned pixels may differ by a bit between machines, so what they are made from is told apart.
    digest = hashlib.sha256(pictures.digest())
    digest.update(f";{size or pictures.side};{ANGLES_SEED if rotated else 'upright'}".encode())
    for mask in split.parts.values():
        digest.update(np.packbits(mask).tobytes())
    return digest.hexdigest()[:16]
