"""The form that suits features, and standardized ones against their definition, for dense and sparse alike."""

import json

import numpy as np
import pytest
from scipy import sparse

from lipgnn.datasets import Source, Split, form_of_data, load, prepare
from lipgnn.datasets import standard as module
from lipgnn.datasets.standard import Statistics, form_of, form_words, standardize, statistics_of
from lipgnn.errors import UsageError

DRAW = np.random.default_rng(5)
REAL = DRAW.normal(3.0, 2.0, size=(50, 4)).astype(np.float32)
WORDS = (DRAW.random((50, 20)) < 0.1).astype(np.float32)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("features", "form"),
    [
        (WORDS, "row"),
        # Counts, few and many.
        (WORDS * 7, "row"),
        (np.arange(1, 13).reshape(3, 4), "row"),
        # Weights of words, as those of tf-idf.
        (WORDS * 0.37, "row"),
        (np.zeros((3, 2)), "row"),
        (REAL, "standard"),
        (np.abs(REAL) + 0.5, "standard"),
        # One value with a sign among words.
        (np.concatenate([WORDS, [[-0.5] * 20]]), "standard"),
    ],
)
def test_the_form_is_by_what_the_values_are(features, form, make):
    assert form_of(make(np.asarray(features, dtype=np.float32))) == form


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_texts_of_the_shipped_data_are_scaled_by_rows(name):
    assert form_of_data(name) == "row"


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_every_column_has_mean_zero_and_deviation_one(make, monkeypatch):
    monkeypatch.setattr(module, "_ROWS", 7)
    found = standardize(make(REAL), statistics_of(make(REAL)))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.mean(axis=0, dtype=np.float64), 0, atol=1e-6)
    np.testing.assert_allclose(found.std(axis=0, dtype=np.float64), 1, rtol=1e-6)
    expected = (REAL - np.mean(REAL, axis=0, dtype=np.float64)) / np.std(REAL, axis=0, dtype=np.float64)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_units_and_offsets_do_not_count():
    scaled = (REAL.astype(np.float64) * [1e-3, 1, 50, 1e4] + [0, -7, 1e3, 2]).astype(np.float32)
    np.testing.assert_allclose(
        standardize(scaled, statistics_of(scaled)), standardize(REAL, statistics_of(REAL)), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("value", [0.0, 1e6, -3.3333333])
def test_a_constant_column_becomes_zero(value):
    features = np.full((9, 1), value, dtype=np.float32)
    np.testing.assert_allclose(standardize(features, statistics_of(features)), 0, atol=1e-6)


def test_statistics_are_the_same_after_json():
    found = statistics_of(REAL)
    again = Statistics.from_dict(json.loads(json.dumps(found.to_dict())), 4)
    assert (again.mean == found.mean).all() and (again.deviation == found.deviation).all()


@pytest.mark.parametrize(
    "values",
    [
        {"mean": [0.0], "deviation": [1.0]},
        {"mean": [0.0, float("nan")], "deviation": [1.0, 1.0]},
        {"mean": [0.0, 0.0], "deviation": [1.0, 0.0]},
        {"mean": "ab", "deviation": [1.0, 1.0]},
        {"mean": [0.0, 0.0]},
        None,
    ],
)
def test_statistics_that_cannot_be_are_refused(values):
    with pytest.raises((ValueError, TypeError, KeyError)):
        Statistics.from_dict(values, 2)


def test_what_would_not_fit_into_memory_is_refused():
    wide = sparse.csr_array((1 << 17, 1 << 16), dtype=np.float32)
    with pytest.raises(UsageError, match="would not fit into memory"):
        statistics_of(wide)


def made(features):
    edges = np.array([[0, 1], [1, 2]])
    return Source("made", edges=edges, directed=False, features=features, labels=np.arange(len(features)) % 2)


def test_auto_is_the_form_that_it_comes_to_and_keeps_the_statistics_of_all_nodes():
    everybody = np.ones(50, bool)
    split = Split(everybody, everybody, everybody)
    real, words = (prepare(made(one), split, features="auto") for one in (REAL, WORDS))
    assert (real.form, words.form, words.statistics) == ("standard", "row", None)
    same = prepare(made(REAL), split, features="standard")
    assert (real.features_array == same.features_array).all() and real.fingerprint == same.fingerprint
    # By the statistics of other data, and where these are of other features, by its own.
    other = prepare(made(REAL * 3 + 1), split, features="standard", statistics=real.statistics)
    np.testing.assert_allclose(
        other.features_array, ((REAL * 3 + 1) - real.statistics.mean) / real.statistics.deviation, rtol=1e-5
    )
    narrow = prepare(made(REAL[:, :2]), split, features="standard", statistics=real.statistics)
    assert abs(narrow.features_array.mean()) < 1e-6


def test_a_data_set_that_is_known_keeps_its_form():
    assert load("cora", features="auto").form == "row"
    assert load("cora").form == "raw"


def test_what_is_done_is_said_with_its_option():
    assert "--features row" in form_words("row") and "--features standard" in form_words("standard")
