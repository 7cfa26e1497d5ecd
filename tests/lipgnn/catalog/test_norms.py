"""Norms by name, and that their entries say what their classes say."""

import pytest

from lipgnn import catalog
from lipgnn.errors import UsageError
from lipgnn.norms import feature_norm, score_norm
from lipgnn.norms.contract import is_fused, said


@pytest.mark.parametrize(
    "norm, parts",
    [
        ("none", (None, None)),
        ("lip", ("lip", None)),
        ("pair", (None, "pair")),
        ("lip+layer", ("lip", "layer")),
        ("layer+lip", ("lip", "layer")),
    ],
)
def test_parse_norm(norm, parts):
    assert catalog.parse_norm(norm) == parts


@pytest.mark.parametrize("norm", ["lip+lip", "pair+layer", "lip+pair+batch"])
def test_two_norms_of_one_kind_are_refused(norm):
    with pytest.raises(UsageError, match="two norms of one kind"):
        catalog.parse_norm(norm)


@pytest.mark.parametrize("norm", ["", "lip+", "lipp", "lip+none", "LIP"])
def test_unknown_norms_are_refused_with_the_list(norm):
    with pytest.raises(UsageError) as caught:
        catalog.parse_norm(norm)
    assert all(name in caught.value.hint for name in [*catalog.SCORE_NORMS, *catalog.FEATURE_NORMS])


@pytest.mark.parametrize(
    "norm, attention, fits",
    [
        ("lip+batch", catalog.ADDITIVE, "lip+batch"),
        ("lip+batch", None, "batch"),
        ("lip", None, "none"),
        ("lip-source", catalog.DOT_PRODUCT, "none"),
        ("batch", None, "batch"),
        ("none", None, "none"),
    ],
)
def test_what_fits_of_a_norm(norm, attention, fits):
    assert catalog.fitting_norm(norm, attention) == fits


@pytest.mark.parametrize("name", catalog.SCORE_NORMS)
def test_what_an_entry_says_of_a_score_norm_is_what_its_class_says(name):
    entry = catalog.SCORE_NORMS[name]
    assert set(entry.attention) <= {catalog.ADDITIVE, catalog.DOT_PRODUCT, catalog.DYNAMIC, catalog.SHARED_PRODUCT}
    for attention in entry.attention:
        norm = score_norm(name, attention, kappa=2.0)
        assert attention in norm.attention
        assert is_fused(norm, attention) == entry.fused


@pytest.mark.parametrize("name", catalog.SCORE_NORMS)
def test_no_score_norm_fits_more_than_its_entry_says(name):
    entry = catalog.SCORE_NORMS[name]
    classes = {entry.load(attention) for attention in entry.attention}
    assert {kind for own in classes for kind in own.attention} == set(entry.attention)


def test_every_norm_of_ours_says_all_that_there_is_to_say():
    norms = [score_norm(name, kind, kappa=1.0) for name, e in catalog.SCORE_NORMS.items() for kind in e.attention]
    for norm in norms + [feature_norm(name, 4) for name in catalog.FEATURE_NORMS]:
        silent = object()
        facts = ["local", "keeps_statistics", "certified", *(["attention", "fused"] if norm in norms else [])]
        assert silent not in [said(norm, fact, silent) for fact in facts], norm


def test_fused_norms_are_those_whose_entry_says_so():
    assert catalog.fused_norms() == ["none", "lip"]


def test_an_entry_that_says_nothing_fits_nothing_and_is_not_fused():
    entry = catalog.ScoreNormEntry("a norm", implementations={})
    assert (entry.attention, entry.fused) == ((), False)
