"""The bound of attention on a graph, against a loop over what every node feeds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.norms import Bound, DotProductLipschitzNorm, DynamicLipschitzNorm, LipschitzNorm
from lipgnn.norms.scores import attention_bound


@settings(max_examples=30, deadline=None)
@given(data=st.data(), complete=st.sampled_from(["loops", "nothing"]), kappa=st.sampled_from([0.5, 4.0]))
def test_the_bound_sums_over_the_neighbourhoods_a_node_feeds(data, complete, kappa, reference):
    graph = data.draw(reference.graphs(complete=complete))
    expected = reference.certified_bound(
        reference.edges_of(graph),
        graph.num_nodes(),
        lambda n: math.exp(1 / kappa) / math.sqrt(n) + math.sqrt(8) / kappa,
    )
    assert LipschitzNorm(kappa=kappa).certified(graph).value == pytest.approx(expected, rel=1e-12)
    assert DotProductLipschitzNorm(kappa=kappa).certified(graph).value == pytest.approx(expected, rel=1e-12)
    assert DynamicLipschitzNorm(kappa=kappa, shared=True).certified(graph).value == pytest.approx(expected, rel=1e-12)


def test_the_bound_adds_what_all_nodes_share(reference):
    graph = reference.small_graph()
    local = reference.certified_bound(
        reference.edges_of(graph), 7, lambda n: math.exp(0.5) / math.sqrt(n) + math.sqrt(2) / 2
    )
    norm = DotProductLipschitzNorm(kappa=2.0, query_norm="graph")
    assert norm.certified(graph).value == pytest.approx(local + math.sqrt(2) / 2, rel=1e-12)


def test_a_bound_is_of_its_own_norm_also_where_a_graph_has_seen_others(reference):
    graph = reference.small_graph()
    bounds = [LipschitzNorm(kappa=kappa).certified(graph) for kappa in (1.0, 4.0, 1.0)]
    assert bounds[0] == bounds[2] and bounds[0].value > bounds[1].value
    assert bounds[0] == LipschitzNorm(kappa=1.0).certified(reference.small_graph())


def test_what_is_found_once_is_not_computed_again(reference, monkeypatch):
    graph = reference.small_graph()
    first = LipschitzNorm(kappa=2.0).certified(graph)
    monkeypatch.setattr(attention_bound, "_largest_sum", None)
    assert LipschitzNorm(kappa=2.0).certified(graph) == first
    with pytest.raises(TypeError):
        LipschitzNorm(kappa=3.0).certified(graph)


@pytest.mark.parametrize("kappa", [1e-3, 2e-3])
@pytest.mark.parametrize("kind", [LipschitzNorm, DotProductLipschitzNorm, DynamicLipschitzNorm])
def test_a_constant_beyond_all_numbers_is_none(kind, kappa, reference):
    """e^1000 cannot be written, and the square of e^500 cannot either."""
    for graph in (reference.small_graph(), reference.small_graph(loops=False)):
        bound = kind(kappa=kappa).certified(graph)
        assert bound.value == math.inf and "use a larger --kappa" in bound.reason


def test_a_graph_without_nodes_stretches_nothing(reference):
    assert LipschitzNorm().certified(reference.build([], nodes=0)) == Bound(0.0)
