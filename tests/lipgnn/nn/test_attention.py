"""What the attention layers share, against loops over edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from lipgnn.errors import DataError, UsageError
from lipgnn.nn import GATConv, TransformerConv
from lipgnn.nn.attention import aggregate, certified_bound, check_in_degrees, named_score_norm, spread_of
from lipgnn.norms import DotProductLipschitzNorm, LipschitzNorm


class Twice(nn.Module):
    def forward(self, x):
        return 2 * x


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_aggregate_is_the_softmax_weighted_sum(data, reference):
    graph = data.draw(reference.graphs(complete="nothing"))
    scores = 3 * reference.normal(1, graph.num_edges(), 2, 1)
    value = reference.normal(2, graph.num_nodes(), 2, 3)
    out, attention = aggregate(graph, scores, value, nn.Identity())
    expected = reference.attend(reference.edges_of(graph), scores.squeeze(-1).numpy(), value.numpy())
    np.testing.assert_allclose(out.numpy(), expected[0], atol=1e-12)
    np.testing.assert_allclose(attention.squeeze(-1).numpy(), expected[1], atol=1e-12)


def test_spread_is_the_entropy_of_every_node_and_its_largest_weight(reference):
    graph = reference.build([(0, 0), (1, 0), (2, 0), (0, 1), (2, 1)], nodes=3)
    weights = torch.tensor([[0.2, 1.0], [0.3, 0.0], [0.5, 0.0], [0.25, 0.5], [0.75, 0.5]])
    entropy, largest = spread_of(graph, weights)
    for node, edges in ((0, [0, 1, 2]), (1, [3, 4])):
        for head in (0, 1):
            own = [weights[edge, head].item() for edge in edges]
            assert entropy[node, head].item() == pytest.approx(-sum(p * math.log(p) for p in own if p))
            assert largest[node, head].item() == pytest.approx(max(own))
    assert entropy[2].tolist() == [0, 0]


@pytest.mark.parametrize("kernel", ["auto", "dgl"])
@pytest.mark.parametrize(
    "kind, norm",
    [(GATConv, None), (GATConv, "lip"), (GATConv, "lip-source"), (TransformerConv, None), (TransformerConv, "lip")],
)
def test_layers_say_how_their_attention_is_spread(kind, norm, kernel, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    layer = reference.redraw(kind(3, 2, 4, norm=norm, kernel=kernel, attn_drop=0.5), seed=1).eval()
    weights = layer(graph, x, get_attention=True)[1].squeeze(-1)
    torch.testing.assert_close(tuple(layer.spread(graph, x)), tuple(spread_of(graph, weights)))


@pytest.mark.parametrize("kind", [GATConv, TransformerConv])
def test_attention_over_no_neighbour_has_no_spread(kind, reference):
    with pytest.raises(DataError, match="no in-edge"):
        kind(3, 2, 4, norm="lip")(reference.small_graph(loops=False), torch.ones(7, 3))
    with pytest.raises(DataError, match="no in-edge"):
        kind(3, 2, 4, norm="lip").spread(reference.small_graph(loops=False), torch.ones(7, 3))


def test_aggregate_survives_scores_whose_exponential_overflows(reference):
    graph = reference.build([(0, 1), (1, 1), (2, 1)], nodes=3)
    value = reference.normal(0, 3, 1, 2)
    out, attention = aggregate(graph, torch.tensor([1e4, 1e4, -1e4]).view(3, 1, 1).double(), value, nn.Identity())
    assert attention.flatten().tolist() == [0.5, 0.5, 0.0]
    torch.testing.assert_close(out[1], (value[0] + value[1]) / 2)


def test_dropout_acts_on_the_weights_that_are_summed_and_returned(reference):
    graph = reference.small_graph()
    scores, value = reference.normal(1, graph.num_edges(), 2, 1), reference.normal(2, 7, 2, 3)
    plain = aggregate(graph, scores, value, nn.Identity())
    doubled = aggregate(graph, scores, value, Twice())
    torch.testing.assert_close(doubled[0], 2 * plain[0])
    torch.testing.assert_close(doubled[1], 2 * plain[1])


def test_aggregate_leaves_nothing_on_the_graph(reference):
    graph = reference.small_graph()
    aggregate(graph, torch.zeros(graph.num_edges(), 1, 1), torch.ones(7, 1, 2), nn.Identity())
    assert not graph.ndata and not graph.edata


def test_nodes_without_in_edges_are_counted_and_the_first_five_named(reference):
    graph = reference.build([(0, 3)], nodes=9)
    with pytest.raises(DataError, match=r"8 node\(s\) have no in-edge, the first: 0, 1, 2, 4, 5;") as caught:
        check_in_degrees(graph, allow_zero=False)
    assert "add_self_loop" in caught.value.hint and "allow_zero_in_degree=True" in caught.value.hint
    check_in_degrees(graph, allow_zero=True)
    check_in_degrees(reference.small_graph(), allow_zero=False)


def test_score_norm_by_name_as_module_or_not_at_all():
    module = nn.Identity()
    named = {"lip": LipschitzNorm, "other": nn.Identity}
    assert named_score_norm(None, named) is None
    assert named_score_norm(module, named) is module
    assert isinstance(named_score_norm("lip", named), LipschitzNorm)
    with pytest.raises(UsageError, match="Unknown score norm 'lib'") as caught:
        named_score_norm("lib", named)
    assert caught.value.hint == "Did you mean 'lip'? Valid: lip, other."


@settings(max_examples=30, deadline=None)
@given(data=st.data(), complete=st.sampled_from(["loops", "nothing"]), kappa=st.sampled_from([0.5, 4.0]))
def test_certified_bound_sums_over_the_neighbourhoods_a_node_feeds(data, complete, kappa, reference):
    graph = data.draw(reference.graphs(complete=complete))
    expected = reference.certified_bound(
        reference.edges_of(graph),
        graph.num_nodes(),
        lambda n: math.exp(1 / kappa) / math.sqrt(n) + math.sqrt(8) / kappa,
    )
    assert certified_bound(graph, LipschitzNorm(kappa=kappa)) == pytest.approx(expected, rel=1e-12)
    assert certified_bound(graph, DotProductLipschitzNorm(kappa=kappa)) == pytest.approx(expected, rel=1e-12)


def test_certified_bound_adds_what_all_nodes_share(reference):
    graph = reference.small_graph()
    local = reference.certified_bound(
        reference.edges_of(graph), 7, lambda n: math.exp(0.5) / math.sqrt(n) + math.sqrt(2) / 2
    )
    norm = DotProductLipschitzNorm(kappa=2.0, query_norm="graph")
    assert certified_bound(graph, norm) == pytest.approx(local + math.sqrt(2) / 2, rel=1e-12)


@pytest.mark.parametrize("norm", [None, nn.Identity()])
def test_no_bound_without_a_norm_that_certifies_one(norm, reference):
    assert certified_bound(reference.small_graph(), norm) == math.inf


def test_a_bound_is_of_its_own_norm_also_where_a_graph_has_seen_others(reference):
    """A norm of somebody else's, whose name does not tell one from the other, is asked every time."""
    graph = reference.small_graph()

    class Own(LipschitzNorm):
        def extra_repr(self):
            return ""

    for kind in (LipschitzNorm, Own):
        bounds = [certified_bound(graph, kind(kappa=kappa)) for kappa in (1.0, 4.0, 1.0)]
        assert bounds[0] == bounds[2] > bounds[1]
        assert bounds[0] == certified_bound(reference.small_graph(), kind(kappa=1.0))
