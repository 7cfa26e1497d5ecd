"""Row normalization and erasure against their definitions, for dense and sparse alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from lipgnn.datasets import Split
from lipgnn.datasets.features import build_csr, canonical, erase, row_normalize, transform
from lipgnn.errors import UsageError

DENSE = np.array([[1, 0, 3], [0, 0, 0], [-2, 2, 0], [0, 5, 0], [7, 1, 1]], dtype=np.float32)
TRAIN = np.array([True, False, False, False, True])
SPLIT = Split(TRAIN, np.arange(5) == 1, np.arange(5) == 2)


def test_canonical_sorts_sums_and_drops_zeros():
    messy = sparse.csr_array(([1.0, 2.0, 3.0, 0.0], [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
    tidy = canonical(messy)
    assert tidy.dtype == np.float32
    assert tidy.indices.tolist() == [0, 2] and tidy.data.tolist() == [2.0, 4.0] and tidy.indptr.tolist() == [0, 2, 2]


@pytest.mark.parametrize(
    ("indices", "indptr"),
    [([0, 3], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 1], [0, 2, 1]), ([0, 1], [0, 1]), ([0, 1], [0, 1, 9])],
)
def test_parts_that_do_not_make_a_matrix_are_refused(indices, indptr):
    with pytest.raises(ValueError):
        build_csr(np.ones(2), np.array(indices), np.array(indptr), (2, 3))


@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_row_normalize_divides_by_absolute_sums(make):
    normalized = row_normalize(make(DENSE))
    dense = normalized.toarray() if sparse.issparse(normalized) else normalized
    assert normalized.dtype == np.float32
    expected = [[0.25, 0, 0.75], [0, 0, 0], [-0.5, 0.5, 0], [0, 1, 0], [7 / 9, 1 / 9, 1 / 9]]
    np.testing.assert_allclose(dense, expected, rtol=1e-7)


@given(low=st.floats(0, 1), high=st.floats(0, 1), seed=st.integers(0, 99), is_sparse=st.booleans())
def test_erased_sets_are_nested_and_spare_the_training_nodes(low, high, seed, is_sparse):
    low, high = sorted((low, high))
    train = np.random.RandomState(seed).random_sample(40) < 0.3
    split = Split(train, ~train, np.zeros(40, bool))
    features = sparse.csr_array(np.ones((40, 2), np.float32)) if is_sparse else np.ones((40, 2), np.float32)
    fewer, more = (_zero_rows(erase(features, split, fraction)) for fraction in (low, high))
    assert fewer <= more
    assert not more & set(np.flatnonzero(train))
    assert len(more) == round(high * (~train).sum())


@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_erase_everything_leaves_exactly_the_training_rows(make):
    features = make(DENSE)
    erased = erase(features, SPLIT, 1.0)
    dense = erased.toarray() if sparse.issparse(erased) else erased
    np.testing.assert_array_equal(dense, DENSE * TRAIN[:, None])
    np.testing.assert_array_equal(features.toarray() if sparse.issparse(features) else features, DENSE)


def test_rows_are_normalized_before_they_are_erased():
    both = transform(DENSE, SPLIT, option="row", missing=1.0)
    np.testing.assert_array_equal(both, row_normalize(DENSE) * TRAIN[:, None])


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan")])
def test_fraction_outside_its_range(fraction):
    with pytest.raises(UsageError, match="missing fraction"):
        erase(DENSE, SPLIT, fraction)


def test_unknown_option_lists_the_valid_ones():
    with pytest.raises(UsageError) as caught:
        transform(DENSE, SPLIT, option="rows", missing=0.0)
    assert "'rows'" in caught.value.message and "raw, row, standard, auto, svd" in caught.value.hint


def _zero_rows(features) -> set[int]:
    return set(np.flatnonzero(np.asarray(abs(features).sum(axis=1)).ravel() == 0))
