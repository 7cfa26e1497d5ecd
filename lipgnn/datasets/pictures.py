"""Images as their authors give them, checked once for all readers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from lipgnn.datasets.source import MAX_EMPTY_CLASSES, damaged

FEWEST = 30
"""Images: with fewer, a split would leave parts of them empty."""


@dataclass(frozen=True, eq=False)
class Pictures:
    """Square images of one channel with a class each, before any is turned, pooled or scaled.

    Attributes
    ----------
    name : what the data set is called.
    images : (N, S, S) uint8.
    labels : (N,) uint8, class numbers.
    brightest : the value that stands for 1.
    test : (N,) booleans, which of them are published as a test part; none may be.
    origin : the file or folder they were read from, for error messages.

    Raises
    ------
    DataError : parts that do not fit together; the message names `origin` and the first reason.
    """

    name: str
    images: np.ndarray
    labels: np.ndarray
    brightest: int
    test: np.ndarray
    origin: str

    def __post_init__(self) -> None:
        if problem := self._problem():
            raise damaged(self.origin, problem)

    def _problem(self) -> str | None:
        images, labels = self.images, self.labels
        if images.ndim != 3 or images.shape[1] != images.shape[2] or not images.size or images.dtype != np.uint8:
            return f"images are {images.dtype} of shape {images.shape}, not bytes of shape (images, side, side)"
        if labels.shape != (len(images),) or labels.dtype.kind not in "iu":
            return f"labels are {labels.dtype} of shape {labels.shape}, not whole numbers of shape ({len(images)},)"
        if len(images) < FEWEST or (self.test.any() and (~self.test).sum() < FEWEST):
            return f"it has fewer than {FEWEST} images to train on and to validate on"
        if labels.min() < 0 or labels.max() >= MAX_EMPTY_CLASSES:
            return f"label {labels.min() if labels.min() < 0 else labels.max()} is outside 0..{MAX_EMPTY_CLASSES - 1}"
        if images.max() > self.brightest:
            return f"a pixel is {images.max()}, and {self.brightest} is the brightest there is"
        return None

    @property
    def side(self) -> int:
        return self.images.shape[1]

    @property
    def num_classes(self) -> int:
        """One more than the largest label."""
        return int(self.labels.max()) + 1

    def digest(self) -> bytes:
        """Of everything that is given."""
        digest = hashlib.sha256(b"lipgnn-images-1")
        for array in (self.images, self.labels.astype(np.uint8), self.test):
            digest.update(f";{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.digest()
