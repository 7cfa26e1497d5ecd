"""What the attention layers share, against loops over edges."""

from __future__ import annotations

import gc

import pytest
import torch
from torch import nn

from lipgnn.errors import DataError
from lipgnn.nn import GATConv, TransformerConv
from lipgnn.nn.attention import check_in_degrees
from lipgnn.nn.contract import acts_alike, is_local, keeps_statistics
from lipgnn.nn.spread import spread_of
from lipgnn.norms import DotProductLipschitzNorm
from lipgnn.spec.network import NetworkSpec


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


def test_nodes_without_in_edges_are_counted_and_the_first_five_named(reference):
    graph = reference.build([(0, 3)], nodes=9)
    with pytest.raises(DataError, match=r"8 node\(s\) have no in-edge, the first: 0, 1, 2, 4, 5;") as caught:
        check_in_degrees(graph, allow_zero=False)
    assert "add_self_loop" in caught.value.hint and "allow_zero_in_degree=True" in caught.value.hint
    check_in_degrees(graph, allow_zero=True)
    check_in_degrees(reference.small_graph(), allow_zero=False)


class Silent(nn.Module):
    """A score norm that says nothing of itself."""

    def forward(self, graph, *arguments):
        return torch.zeros(graph.num_edges(), 4, 1)


@pytest.mark.parametrize("kind", [GATConv, TransformerConv])
def test_a_layer_looks_as_far_as_its_score_norm(kind):
    assert is_local(kind(3, 2, 4)) and is_local(kind(3, 2, 4, norm="lip"))
    silent = kind(3, 2, 4, norm=Silent())
    assert not is_local(silent) and not acts_alike(silent) and keeps_statistics(silent)
    assert not is_local(GATConv(3, 2, 4, norm="lip-released"))
    assert not is_local(TransformerConv(3, 2, 4, norm=DotProductLipschitzNorm(query_norm="graph")))


@pytest.mark.parametrize("kind", [GATConv, TransformerConv])
def test_a_score_norm_that_says_nothing_is_neither_certified_nor_fused(kind, reference):
    layer = kind(3, 2, 4, norm=Silent())
    assert layer.certified(reference.small_graph()).reason == "Silent says no certified bound"
    assert layer.lipschitz_bound(reference.small_graph()) == torch.inf
    assert layer.kernel_on(torch.device("cpu")) is None


@pytest.mark.parametrize("kind, skip", [(GATConv, "own"), (TransformerConv, "own"), (TransformerConv, "none")])
def test_layers_are_made_as_a_specification_says(kind, skip):
    spec = NetworkSpec(
        model="gat" if kind is GATConv else "gt",
        hidden=4,
        heads=3,
        norm="lip+layer",
        kappa=2.5,
        attn_dropout=0.25,
        kernel="dgl",
        skip=skip,
    )
    layer = kind.from_spec(spec, 6)
    assert (layer.num_heads, layer.out_feats, layer.norm.kappa) == (3, 2, 2.5)
    assert (layer.attn_drop.p, layer.feat_drop.p, layer.kernel) == (0.25, 0.0, "dgl")
    if kind is TransformerConv:
        assert (layer.skip is None) == (skip == "none")


@pytest.mark.parametrize("kernel", ["dgl", "fused"])
@pytest.mark.parametrize("kind", [GATConv, TransformerConv])
def test_what_a_step_has_kept_goes_with_its_output(kind, kernel, reference):
    """Without the garbage collector: what holds itself alive piles up between its runs."""
    layer, x = kind(3, 2, 4, norm="lip", kernel=kernel), torch.ones(7, 3, requires_grad=True)
    graph, found = reference.small_graph(), []
    gc.collect()
    gc.disable()
    try:
        for _ in range(6):
            layer(graph, x).sum().backward()
            found.append(sum(type(each) is torch.Tensor for each in gc.get_objects()))
    finally:
        gc.enable()
    assert found[-1] == found[1]
