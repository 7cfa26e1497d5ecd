"""GATConv and GATv2Conv in the place of DGL's, TransformerConv in that of PyG's: on every kind of graph they take.

What DGL's own tests of its layer ask for (homogeneous graphs, message-flow graphs, bipartite graphs, weights of edges,
attention, residuals, pickling), but compared in outputs and all gradients with weights copied over.
"""

from __future__ import annotations

import io
from functools import partial

import pytest
import torch
from torch import nn

from lipgnn.errors import DataError, UsageError
from lipgnn.nn import GATConv, GATv2Conv, TransformerConv
from lipgnn.runtime import dgl

pytestmark = pytest.mark.usefixtures("each_kernel")


def bipartite():
    """Six users, four films; every film is liked, one twice by the same user."""
    ends = ([0, 1, 2, 3, 5, 5, 0, 0], [0, 0, 1, 2, 2, 3, 3, 3])
    return dgl.heterograph({("user", "likes", "film"): ends}, {"user": 6, "film": 4})


def flow():
    """Three of seven nodes with their in-neighbours, which come after them."""
    graph = dgl.add_self_loop(dgl.graph(([0, 1, 1, 2, 3, 4, 4, 4, 2], [1, 0, 2, 3, 4, 2, 5, 5, 5]), num_nodes=7))
    return dgl.to_block(dgl.in_subgraph(graph, [5, 2, 0]), [5, 2, 0])


def flow_between_kinds():
    wanted = {"film": [3, 1]}
    return dgl.to_block(dgl.in_subgraph(bipartite(), wanted), wanted, include_dst_in_src=False)["likes"]


def homogeneous():
    return dgl.add_self_loop(dgl.graph(([0, 1, 1, 2, 3, 4, 4], [1, 0, 2, 3, 4, 2, 2]), num_nodes=6))


# The graph, and whether features are a pair.
GRAPHS = {
    "homogeneous": (homogeneous, False),
    "homogeneous, a pair": (homogeneous, True),
    "message flow": (flow, False),
    "message flow, a pair": (flow, True),
    "bipartite": (bipartite, True),
    "message flow between kinds": (flow_between_kinds, True),
}


def features_of(reference, graph, *, pair, middle=(), widths=(5, 5)):
    counts = graph.num_src_nodes(), graph.num_dst_nodes()
    drawn = [
        reference.normal(seed, n, *middle, width).requires_grad_()
        for seed, n, width in zip((1, 2), counts, widths, strict=True)
    ]
    return tuple(drawn) if pair else drawn[0]


def compare(ours, theirs, graph, feat, edge_weight=None):
    """Outputs, attention and gradients of features, weights of edges and all parameters."""
    theirs.load_state_dict(ours.state_dict(), strict=True)
    inputs = [*(feat if isinstance(feat, tuple) else (feat,)), *([] if edge_weight is None else [edge_weight])]
    results = []
    for layer in (ours, theirs):
        # DGL's GATv2Conv has no weights of edges.
        more = {} if edge_weight is None else {"edge_weight": edge_weight}
        out = layer(graph, feat, **more)
        factors = torch.randn(out.shape, dtype=out.dtype, generator=torch.Generator().manual_seed(0))
        gradients = torch.autograd.grad((out * factors).sum(), [*inputs, *layer.parameters()], allow_unused=True)
        shown, attention = layer(graph, feat, get_attention=True, **more)
        torch.testing.assert_close(shown, out)
        results.append([out, attention, *(torch.zeros(()) if g is None else g for g in gradients)])
    torch.testing.assert_close(*results, atol=1e-10, rtol=1e-10)
    return results[0][0]


@pytest.mark.parametrize("which", GRAPHS)
@pytest.mark.parametrize("heads, width", [(1, 1), (4, 2), (3, 5), (8, 8)])
@pytest.mark.parametrize("numbers", ["int32", "int64"])
def test_equals_dgl_on_every_kind_of_graph(which, heads, width, numbers, reference):
    make, pair = GRAPHS[which]
    graph = make().int() if numbers == "int32" else make().long()
    ours, theirs = (kind(5, width, heads) for kind in (GATConv, dgl.nn.GATConv))
    reference.redraw(ours, seed=3)
    out = compare(ours, theirs.double(), graph, features_of(reference, graph, pair=pair))
    assert out.shape == (graph.num_dst_nodes(), heads, width)


@pytest.mark.parametrize("which", GRAPHS)
@pytest.mark.parametrize("residual, bias", [(True, True), (True, False), (False, False)])
@pytest.mark.parametrize("in_feats", [5, 6])
def test_equals_dgl_with_residuals_and_biases(which, residual, bias, in_feats, reference):
    make, pair = GRAPHS[which]
    options = {"residual": residual, "bias": bias, "activation": torch.tanh, "negative_slope": 0.3}
    ours, theirs = (kind(in_feats, 2, 3, **options) for kind in (GATConv, dgl.nn.GATConv))
    graph, feat = make(), features_of(reference, make(), pair=pair, widths=(in_feats, in_feats))
    compare(reference.redraw(ours, seed=3), theirs.double(), graph, feat)


@pytest.mark.parametrize("which", GRAPHS)
@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("residual, bias, in_feats", [(False, True, 5), (True, True, 5), (True, False, 6)])
def test_gatv2_equals_dgl_on_every_kind_of_graph(which, share, residual, bias, in_feats, reference):
    make, pair = GRAPHS[which]
    options = {"residual": residual, "bias": bias, "share_weights": share, "negative_slope": 0.3}
    ours, theirs = (kind(in_feats, 2, 3, **options) for kind in (GATv2Conv, dgl.nn.GATv2Conv))
    graph, feat = make(), features_of(reference, make(), pair=pair, widths=(in_feats, in_feats))
    compare(reference.redraw(ours, seed=3), theirs.double(), graph, feat)


@pytest.mark.parametrize("which", [name for name, (_, pair) in GRAPHS.items() if pair])
def test_gatv2_equals_dgl_with_features_of_two_widths(which, reference):
    graph = GRAPHS[which][0]()
    ours, theirs = (kind((5, 3), 8, 8, residual=True) for kind in (GATv2Conv, dgl.nn.GATv2Conv))
    feat = features_of(reference, graph, pair=True, widths=(5, 3))
    compare(reference.redraw(ours, seed=3), theirs.double(), graph, feat)
    assert "their own features" in ours.certified(homogeneous()).reason


@pytest.mark.parametrize("which", GRAPHS)
def test_equals_dgl_with_weights_of_edges(which, reference):
    make, pair = GRAPHS[which]
    graph = make()
    ours, theirs = (kind(5, 2, 4) for kind in (GATConv, dgl.nn.GATConv))
    weight = reference.normal(7, graph.num_edges()).requires_grad_()
    compare(reference.redraw(ours, seed=3), theirs.double(), graph, features_of(reference, graph, pair=pair), weight)


@pytest.mark.parametrize("which", [name for name, (_, pair) in GRAPHS.items() if pair])
@pytest.mark.parametrize("residual", [True, False])
def test_equals_dgl_with_maps_for_either_end(which, residual, reference):
    graph = GRAPHS[which][0]()
    ours, theirs = (kind((5, 3), 2, 4, residual=residual) for kind in (GATConv, dgl.nn.GATConv))
    feat = features_of(reference, graph, pair=True, widths=(5, 3))
    compare(reference.redraw(ours, seed=3), theirs.double(), graph, feat)
    torch.manual_seed(5)
    drawn = GATConv((5, 3), 2, 4, residual=residual).state_dict()
    torch.manual_seed(5)
    torch.testing.assert_close(dict(drawn), dict(dgl.nn.GATConv((5, 3), 2, 4, residual=residual).state_dict()))


@pytest.mark.parametrize("which", GRAPHS)
@pytest.mark.parametrize("middle", [(1,), (3,), (2, 3)])
@pytest.mark.parametrize("residual", [True, False])
def test_equals_dgl_for_features_with_dimensions_between(which, middle, residual, reference):
    make, pair = GRAPHS[which]
    graph = make()
    ours, theirs = (kind(5, 2, 4, residual=residual) for kind in (GATConv, dgl.nn.GATConv))
    feat = features_of(reference, graph, pair=pair, middle=middle)
    out = compare(reference.redraw(ours, seed=3), theirs.double(), graph, feat)
    assert out.shape == (graph.num_dst_nodes(), *middle, 4, 2)


def test_equals_dgl_inside_a_convolution_over_kinds_of_edges(reference):
    ends = {
        ("user", "follows", "user"): ([0, 1, 2, 2], [1, 2, 0, 1]),
        ("user", "likes", "film"): ([0, 1, 2, 2], [0, 0, 1, 2]),
        ("film", "liked", "user"): ([0, 0, 1, 2], [0, 1, 2, 2]),
    }
    graph = dgl.heterograph(ends)
    widths = {"user": 4, "film": 3}
    outputs = []
    for kind in (GATConv, dgl.nn.GATConv):
        layers = {
            edge: kind((widths[source], widths[target]), 2, 3, allow_zero_in_degree=True)
            for source, edge, target in ends
        }
        convolution = dgl.nn.HeteroGraphConv({name: reference.redraw(layers[name], seed=1) for name in sorted(layers)})
        feat = {name: reference.normal(seed, 3, width) for seed, (name, width) in enumerate(widths.items())}
        wanted = {"user": [0, 1, 2], "film": [0, 2]}
        part = dgl.to_block(dgl.in_subgraph(graph, wanted), wanted)
        sources = {name: feat[name][part.srcnodes[name].data[dgl.NID]] for name in widths}
        outputs.append([convolution(graph, feat), convolution(part, sources)])
    torch.testing.assert_close(*outputs)


def test_nodes_without_in_edges_pass_when_they_are_let(reference):
    graph = dgl.create_block(([0, 1], [0, 0]), num_src_nodes=4, num_dst_nodes=3)
    ours, theirs = (kind(5, 2, 3) for kind in (GATConv, dgl.nn.GATConv))
    feat = features_of(reference, graph, pair=False)
    reference.redraw(ours, seed=3)
    with pytest.raises(DataError, match=r"2 node\(s\) have no in-edge, the first: 1, 2;"):
        ours(graph, feat)
    for layer in (ours, theirs):
        layer.set_allow_zero_in_degree(True)
    out = compare(ours, theirs.double(), graph, feat)
    torch.testing.assert_close(out[1].flatten(), ours.bias)
    ours.set_allow_zero_in_degree(False)
    with pytest.raises(DataError, match="no in-edge"):
        ours(graph, feat)


def test_arguments_are_in_the_order_of_dgl(reference):
    arguments = (5, 2, 3, 0.0, 0.0, 0.3, True, torch.tanh, True, False)
    ours, theirs = (kind(*arguments) for kind in (GATConv, dgl.nn.GATConv))
    graph, weight = homogeneous(), reference.normal(1, homogeneous().num_edges())
    reference.redraw(ours, seed=2)
    theirs.double().load_state_dict(ours.state_dict())
    feat = reference.normal(0, 6, 5)
    torch.testing.assert_close(ours(graph, feat, weight, True), theirs(graph, feat, weight, True))


@pytest.mark.parametrize("pair", [True, False])
def test_layers_can_be_saved_whole(pair, reference):
    layer = GATConv((5, 5) if pair else 5, 2, 3, norm="lip")
    torch.save(layer, file := io.BytesIO())
    file.seek(0)
    again = torch.load(file, weights_only=False)
    feat = features_of(reference, homogeneous(), pair=pair)
    feat = tuple(x.float() for x in feat) if pair else feat.float()
    assert torch.equal(again(homogeneous(), feat), layer(homogeneous(), feat))


@pytest.mark.parametrize(
    "kind, norm",
    [
        *((GATConv, norm) for norm in ("lip", "lip-all-heads", "lip-source", "lip-released")),
        (GATv2Conv, "lip"),
        (TransformerConv, "lip"),
    ],
)
def test_a_message_flow_graph_gives_what_the_whole_graph_does(kind, norm, reference):
    """Of the targets: norms look at their in-neighbours alone, but for one that looks anywhere."""
    layer = reference.redraw(kind(5, 2, 1 if norm == "lip-released" else 4, norm=norm), seed=1)
    graph, x = reference.small_graph(), reference.normal(0, 7, 5)
    part = dgl.to_block(dgl.in_subgraph(graph, [5, 2, 6]), [5, 2, 6])
    torch.testing.assert_close(layer(part, x[part.srcdata[dgl.NID]]), layer(graph, x)[[5, 2, 6]])
    spread, whole = layer.spread(part, x[part.srcdata[dgl.NID]]), layer.spread(graph, x)
    torch.testing.assert_close([*spread], [each[[5, 2, 6]] for each in whole])
    assert "not the same nodes" in layer.certified(part).reason


@pytest.mark.parametrize("which", [name for name, (_, pair) in GRAPHS.items() if pair])
@pytest.mark.parametrize("skip", [True, False])
def test_equals_pyg_from_one_kind_of_nodes_to_another(which, skip, reference, pyg):
    graph = GRAPHS[which][0]()
    ours, theirs = (
        TransformerConv((5, 3), 2, 4, skip=skip).double(),
        pyg.TransformerConv((5, 3), 2, heads=4, root_weight=skip),
    )
    reference.redraw(theirs, seed=6)
    state = {name.removeprefix("lin_"): tensor for name, tensor in theirs.state_dict().items()}
    ours.load_state_dict({name: x for name, x in state.items() if skip or not name.startswith("skip")}, strict=True)
    feat = features_of(reference, graph, pair=True, widths=(5, 3))
    expected = theirs(feat, torch.stack([end.long() for end in graph.edges()])).unflatten(1, (4, 2))
    torch.testing.assert_close(ours(graph, feat), expected)


@pytest.mark.parametrize("norm", [None, "lip"])
@pytest.mark.parametrize("middle", [(3,), (2, 2)])
def test_dimensions_between_and_weights_of_edges_of_the_transformer(middle, norm, reference):
    layer = reference.redraw(TransformerConv(5, 2, 4, norm=norm), seed=1)
    graph, weight = flow(), reference.normal(3, flow().num_edges())
    feat = features_of(reference, graph, pair=False, middle=middle)
    found, attention = layer(graph, feat, weight, True)
    torch.testing.assert_close(layer(graph, feat, weight), found)
    parts = [layer(graph, x, weight, True) for x in feat.flatten(1, -2).unbind(1)]
    torch.testing.assert_close(found.flatten(1, len(middle)), torch.stack([out for out, _ in parts], dim=1))
    torch.testing.assert_close(attention.flatten(1, len(middle)), torch.stack([own for _, own in parts], dim=1))
    plain = layer(graph, feat, get_attention=True)[1]
    torch.testing.assert_close(attention, plain * weight.view(-1, *(1,) * (plain.dim() - 1)))


SECOND = {
    "gat": partial(GATConv, 4, 2, 3),
    "gat with a linear residual": partial(GATConv, 4, 2, 3, residual=True),
    "gat with an identity": partial(GATConv, 6, 2, 3, residual=True, activation=nn.Tanh()),
    "gatv2": partial(GATv2Conv, 4, 2, 3, residual=True),
    "gatv2 with shared weights": partial(GATv2Conv, 4, 2, 3, share_weights=True),
    "transformer": partial(TransformerConv, 4, 2, 3, skip=False),
    "transformer with its skip": partial(TransformerConv, 4, 2, 3),
}


@pytest.mark.parametrize("norm", [None, "lip"])
@pytest.mark.parametrize("which", SECOND)
def test_second_derivatives_are_right_or_refused(which, norm, each_kernel, reference):
    """Those of the fused kernel were left out without a word where something else was differentiable twice."""
    layer = reference.redraw(SECOND[which](norm=norm), seed=1)
    graph, width = reference.small_graph(), 6 if "identity" in which else 4
    x = reference.normal(0, 7, width).requires_grad_()
    if each_kernel == "dgl":
        assert torch.autograd.gradgradcheck(lambda x: layer(graph, x), x)
        return
    for loss in (torch.sum, lambda out: out.square().sum()):
        (grad,) = torch.autograd.grad(loss(layer(graph, x)), x, create_graph=True)
        with pytest.raises(UsageError, match="no second derivatives") as caught:
            torch.autograd.grad(grad.square().sum(), x)
        assert "kernel='dgl'" in caught.value.hint
