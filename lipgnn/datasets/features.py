"""Features: the one sparse form, the scale of rows and columns, and the missing-features setting."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from lipgnn.catalog import FEATURE_FORMS
from lipgnn.datasets.source import Features, Split
from lipgnn.datasets.standard import Statistics, standardize, statistics_of
from lipgnn.errors import UsageError, unknown_name

# The set of erased nodes belongs to the experiment, not to the run: every seed sees the same one.
ERASE_SEED = 2021

MAX_EMPTY_COLUMNS = 10**6
"""A sparse matrix may have so many columns, or as many as it has entries; the first layer has a weight for each."""


def build_csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    """A canonical float32 matrix from untrusted parts.

    Raises
    ------
    ValueError : parts that do not fit; scipy's own constructor lets out-of-range indices through.
    """
    if any(part.ndim != 1 for part in (data, indices, indptr)):
        raise ValueError("the parts of a CSR matrix are not lists of numbers")
    if shape[1] > max(MAX_EMPTY_COLUMNS, len(data)):
        raise ValueError(f"features of shape {shape} have {len(data)} entries, so most columns are empty")
    try:
        matrix = sparse.csr_array((data, indices.astype(np.int64), indptr.astype(np.int64)), shape=shape)
        matrix.check_format(full_check=True)
    except (ValueError, OverflowError, TypeError) as error:
        raise ValueError(f"the parts of a CSR matrix do not fit ({error})") from error
    return canonical(matrix)


def canonical(features: Features) -> sparse.csr_array:
    """A float32 copy with sorted column ids, no duplicates and no stored zeros."""
    matrix = sparse.csr_array(features, dtype=np.float32, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def transform(
    features: Features, split: Split, *, option: str, missing: float, statistics: Statistics | None = None
) -> Features:
    """Apply the run options `features` and `missing`: first scale rows or columns, then erase some rows.

    A substitute ("svd") is made before, by `lipgnn.datasets.spectral`, and taken as it is.

    Parameters
    ----------
    statistics : by which columns are standardized, with option "standard".

    Raises
    ------
    UsageError : an unknown option, or a fraction outside 0..1.
    """
    if option not in FEATURE_FORMS:
        raise unknown_name("features option", option, FEATURE_FORMS)
    if option == "row":
        features = row_normalize(features)
    if option == "standard":
        features = standardize(features, statistics or statistics_of(features))
    return erase(features, split, missing)


def row_normalize(features: Features) -> Features:
    """Divide every row by the sum of its absolute values; zero rows stay zero."""
    totals = np.asarray(abs(features).sum(axis=1, dtype=np.float64)).ravel()
    scale = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)
    return _scale_rows(features, scale)


def erase(features: Features, split: Split, fraction: float) -> Features:
    """Set the features of a share of the nodes outside the training mask to zero.

    The erased nodes are a prefix of one fixed permutation, so those of a smaller fraction are among those of a
    larger one, and 1 erases every node that is not trained on.

    Raises
    ------
    UsageError : a fraction outside 0..1.
    """
    if not 0.0 <= fraction <= 1.0:
        raise UsageError(f"The missing fraction is {fraction!r}.", "Give a number from 0 to 1.")
    pool = np.flatnonzero(~split.train)
    count = round(fraction * len(pool))
    if count == 0:
        return features
    # RandomState's stream is frozen by numpy's compatibility policy; default_rng's may change between versions.
    erased = np.random.RandomState(ERASE_SEED).permutation(pool)[:count]
    keep = np.ones(features.shape[0])
    keep[erased] = 0.0
    return _scale_rows(features, keep)


def _scale_rows(features: Features, scale: np.ndarray) -> Features:
    """Rows times `scale` (N,), in float64 and back to float32; sparse stays canonical."""
    if sparse.issparse(features):
        values = features.data * np.repeat(scale, np.diff(features.indptr))
        scaled = (values.astype(np.float32), features.indices, features.indptr)
        return canonical(sparse.csr_array(scaled, shape=features.shape))
    return (features * scale[:, None]).astype(np.float32)
