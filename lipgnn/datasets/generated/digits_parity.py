"""Is a digit even? The handwritten digits as nodes without edges, for the study of optimization.

Every pixel is standardized over all images, and every image is divided by its length: the small data set on which
sparse steps with memory are studied, because its optimum is known to many digits.
"""

from __future__ import annotations

import numpy as np

from lipgnn.datasets.images import read_pictures
from lipgnn.datasets.source import Source


def generate() -> Source:
    """1797 nodes with 64 features and one yes-or-no label each."""
    pictures = read_pictures("digits")
    pixels = pictures.images.reshape(len(pictures.labels), -1).astype(np.float64)
    spread = pixels.std(axis=0)
    # Some pixels are dark in all images.
    standard = (pixels - pixels.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    lengths = np.linalg.norm(standard, axis=1, keepdims=True)
    return Source(
        name="digits-parity",
        edges=np.zeros((2, 0), dtype=np.int64),
        directed=False,
        # Rounded, so that the last bit of a machine's division does not make another data set.
        features=(standard / lengths).round(6).astype(np.float32),
        labels=(pictures.labels % 2 == 0).astype(np.float32)[:, None],
        class_names=("even",),
        origin="digits-parity",
    )
