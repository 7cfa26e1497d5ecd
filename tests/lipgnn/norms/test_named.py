"""Norms by name: those that the names describe, and what each promises."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from lipgnn.catalog import ADDITIVE, DOT_PRODUCT, DYNAMIC, FEATURE_NORMS
from lipgnn.errors import UsageError
from lipgnn.norms import (
    BatchNorm,
    DotProductLipschitzNorm,
    DynamicLipschitzNorm,
    GraphNorm,
    LayerNorm,
    LipschitzNorm,
    PairNorm,
    SourceLipschitzNorm,
    feature_norm,
    score_norm,
)

GRAPH = None  # where there is none, all nodes are of one graph


@pytest.fixture
def x(reference) -> torch.Tensor:
    """Nine rows of width 4, far from the origin and of very different lengths."""
    return 5 + torch.linspace(0.1, 10, 9, dtype=torch.float64).view(9, 1) * reference.normal(1, 9, 4)


@pytest.mark.parametrize("name", FEATURE_NORMS)
def test_every_name_of_the_catalog_gives_a_norm_that_keeps_the_shape(name, x):
    norm = feature_norm(name, 4)
    assert norm.double()(GRAPH, x).shape == x.shape


def test_names_give_the_norms_they_describe(x):
    same = {
        "pair": PairNorm(),
        "pair-si": PairNorm(individually=True),
        "layer": LayerNorm(4),
        "layer-graph": LayerNorm(4, mode="graph"),
        "batch": BatchNorm(4),
        "graph": GraphNorm(4),
    }
    assert set(same) == set(FEATURE_NORMS)
    for name, norm in same.items():
        torch.testing.assert_close(feature_norm(name, 4).double()(GRAPH, x), norm.double()(GRAPH, x))


@pytest.mark.parametrize("value", [0.0, 7.0])
@pytest.mark.parametrize("name", list(FEATURE_NORMS))
def test_equal_features_give_finite_values_and_gradients(name, value):
    x = torch.full((5, 4), value, requires_grad=True)
    out = feature_norm(name, 4)(GRAPH, x)
    (out * torch.linspace(-1, 1, 20).view(5, 4)).sum().backward()
    assert out.isfinite().all() and x.grad.isfinite().all()


@pytest.mark.parametrize("name", FEATURE_NORMS)
def test_gradcheck(name, x):
    norm = feature_norm(name, 4).double()
    assert torch.autograd.gradcheck(lambda x: norm(GRAPH, x), x.requires_grad_())


def test_unknown_feature_norms_list_the_valid_ones():
    with pytest.raises(UsageError, match="Unknown feature norm 'pairs'") as caught:
        feature_norm("pairs", 4)
    assert "Did you mean 'pair'?" in caught.value.hint
    assert all(name in caught.value.hint for name in FEATURE_NORMS)


@pytest.mark.parametrize(
    "name, attention, expected",
    [
        ("lip", ADDITIVE, LipschitzNorm(kappa=2.0)),
        ("lip", DOT_PRODUCT, DotProductLipschitzNorm(kappa=2.0)),
        ("lip", DYNAMIC, DynamicLipschitzNorm(kappa=2.0)),
        ("lip-all-heads", ADDITIVE, LipschitzNorm(kappa=2.0, per_head=False)),
        ("lip-source", ADDITIVE, SourceLipschitzNorm(kappa=2.0)),
        ("lip-released", ADDITIVE, SourceLipschitzNorm(kappa=2.0, released=True)),
    ],
)
def test_score_norms_by_name(name, attention, expected):
    norm = score_norm(name, attention, kappa=2.0)
    assert type(norm) is type(expected) and repr(norm) == repr(expected)


def test_a_score_norm_as_module_or_not_at_all():
    module = nn.Identity()
    assert score_norm(None, ADDITIVE, kappa=1.0) is None
    assert score_norm(module, ADDITIVE, kappa=1.0) is module


def test_unknown_score_norms_list_those_that_fit_the_attention():
    with pytest.raises(UsageError, match="Unknown score norm 'lib'") as caught:
        score_norm("lib", ADDITIVE, kappa=1.0)
    assert caught.value.hint == "Did you mean 'lip'? Valid: lip, lip-all-heads, lip-source, lip-released."
    with pytest.raises(UsageError, match="Unknown score norm 'lip-source'") as caught:
        score_norm("lip-source", DOT_PRODUCT, kappa=1.0)
    assert caught.value.hint.endswith("Valid: lip.")
