"""What norms say of themselves is true, and what they do not say is taken for the careful case."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from toys import SilentFeatureNorm, SilentScoreNorm, SpeakingFeatureNorm, SpeakingScoreNorm

from lipgnn import catalog
from lipgnn.norms import LipschitzNorm, feature_norm, score_norm
from lipgnn.norms.bound import Bound
from lipgnn.norms.contract import certified, is_fused, is_local, keeps_statistics, said

SCORE_NORMS = [(name, kind) for name, entry in catalog.SCORE_NORMS.items() for kind in entry.attention]


def scores(norm, attention, graph, x):
    """The scores of all edges, from features (N, 2, 3)."""
    if attention == catalog.DOT_PRODUCT:
        return norm(graph, x, x.sin(), x.cos())
    if attention == catalog.SHARED_PRODUCT:
        return norm(graph, x[:, 0], x[:, 1].sin(), x.cos(), torch.tensor([[1.0, -2.0, 0.0], [0.5, 0.0, 3.0]]).to(x))
    sources, targets = graph.edges()
    raw = (x[sources] + 2 * x[targets]).sum(dim=-1, keepdim=True)
    if attention == catalog.DYNAMIC:
        return norm(graph, raw, (x, 2 * x), torch.ones(1, 2, 3).to(x))
    return norm(graph, raw, x, torch.cat([torch.ones(1, 2, 3), torch.full((1, 2, 3), 2.0)], dim=-1).to(x))


def moved(graph, compute, x, node):
    """The targets that notice when the features of a node change."""
    other = x.clone()
    other[node] += 3.0
    return compute(x) != compute(other)


@pytest.mark.parametrize("name, attention", SCORE_NORMS)
def test_scores_are_local_where_the_norm_says_so_and_nowhere_else(name, attention, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 2, 3)
    norm = score_norm(name, attention, kappa=1.0)
    sources, targets = graph.edges()
    beyond = False
    for node in range(7):
        reached = {int(t) for s, t in zip(sources, targets, strict=True) if int(s) == node} | {node}
        changed = moved(graph, lambda x: scores(norm, attention, graph, x), x, node).flatten(1).any(dim=1)
        beyond |= any(int(t) not in reached for t in targets[changed])
    assert beyond != is_local(norm)


@pytest.mark.parametrize("name", catalog.FEATURE_NORMS)
def test_features_are_local_where_the_norm_says_so_and_nowhere_else(name, reference):
    x, norm = reference.normal(0, 7, 4), feature_norm(name, 4).double()
    changed = moved(None, lambda x: copy.deepcopy(norm)(None, x), x, 3).any(dim=1)
    assert changed[3] and changed[[0, 1, 2, 4, 5, 6]].any() != is_local(norm)


@pytest.mark.parametrize("name", catalog.FEATURE_NORMS)
def test_a_norm_keeps_statistics_where_it_is_another_in_evaluation(name, reference):
    x, norm = reference.normal(0, 7, 4), feature_norm(name, 4).double()
    assert torch.equal(norm.train()(None, x), norm.eval()(None, x)) != keeps_statistics(norm)


@pytest.mark.parametrize("silent", [SilentFeatureNorm(), SilentScoreNorm(kappa=1.0), nn.Identity(), nn.BatchNorm1d(3)])
def test_whoever_says_nothing_is_taken_for_the_careful_case(silent):
    assert not is_local(silent) and keeps_statistics(silent)
    assert not any(is_fused(silent, kind) for kind in (catalog.ADDITIVE, catalog.DOT_PRODUCT))
    assert certified(silent, None) == Bound.unknown(f"{type(silent).__name__} says no certified bound")


@pytest.mark.parametrize("norm", [SpeakingFeatureNorm(), SpeakingScoreNorm(kappa=1.0)])
def test_saying_so_changes_it(norm):
    assert is_local(norm) and not keeps_statistics(norm)
    assert certified(norm, None).reason is None


def test_where_there_is_no_norm_there_is_nothing_to_be_careful_about():
    assert is_local(None) and not keeps_statistics(None) and is_fused(None, catalog.ADDITIVE)
    assert certified(None, None) == Bound(1.0)


def test_what_is_said_is_of_the_forward_of_the_class_that_says_it(reference):
    class Other(LipschitzNorm):
        def forward(self, graph, scores, z, attn):
            return scores - scores.mean()

    class OtherThatSaysSo(Other):
        local = True

    class Renamed(LipschitzNorm):
        def extra_repr(self):
            return ""

    assert not is_local(Other()) and not is_fused(Other(), catalog.ADDITIVE)
    assert "Other says no certified bound" in certified(Other(), reference.small_graph()).reason
    assert is_local(OtherThatSaysSo()) and not is_fused(OtherThatSaysSo(), catalog.ADDITIVE)
    assert is_local(Renamed()) and is_fused(Renamed(), catalog.ADDITIVE)


def test_a_fused_norm_is_fused_for_its_own_kind_of_attention():
    assert is_fused(LipschitzNorm(), catalog.ADDITIVE)
    assert not is_fused(LipschitzNorm(), catalog.DOT_PRODUCT)
    assert not is_fused(LipschitzNorm(per_head=False), catalog.ADDITIVE)


def test_a_fact_may_depend_on_the_options():
    assert said(LipschitzNorm(per_head=False), "fused", None) is False
    assert said(LipschitzNorm(), "nothing of the kind", "careful") == "careful"
