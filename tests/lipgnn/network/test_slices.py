"""Features with an axis of their own for several images on one graph: each is computed as if it were alone."""

import pytest
import torch
from networks import bare

from lipgnn.catalog import FEATURE_NORMS
from lipgnn.runtime import EDGE_TYPE

ALONE = [name for name in FEATURE_NORMS if name != "batch"]


def network(reference, **options):
    deep = bare(3, 2, **{"model": "gt", "layers": 3, "hidden": 2, "heads": 2} | options)
    return reference.redraw(deep, seed=1).eval()


@pytest.fixture
def graph(reference):
    return reference.small_graph()


@pytest.mark.parametrize("norm", ["none", "lip", *ALONE, *(f"lip+{name}" for name in ALONE)])
@pytest.mark.parametrize("model", ["gt", "gat", "gatv2", "gat-sep"])
def test_every_image_is_computed_by_itself(model, norm, graph, reference):
    deep, x = network(reference, model=model, norm=norm), reference.normal(2, 7, 5, 4)
    out = deep.body(graph, x)
    for k in range(5):
        torch.testing.assert_close(out[:, k], deep.body(graph, x[:, k].contiguous()))


@pytest.mark.parametrize(
    "options",
    [
        {"residual": "gated"},
        {"residual": "linear", "mlp": "2x"},
        {"residual": "initial"},
        {"residual": "scaled", "stack": "reversible"},
        {"jk": "concat"},
        {"jk": "max", "norm": "lip+pair", "norm_place": "pre"},
    ],
    ids=str,
)
def test_with_all_that_can_be_around_a_layer(options, graph, reference):
    deep, x = network(reference, **options), reference.normal(2, 7, 5, 4)
    leaf = x.clone().requires_grad_()
    out = deep.body(graph, leaf)
    given = reference.normal(3, *out.shape)
    out.backward(given)
    for k in range(5):
        alone = x[:, k].clone().requires_grad_()
        own = deep.body(graph, alone)
        torch.testing.assert_close(out[:, k], own)
        own.backward(given[:, k])
        torch.testing.assert_close(leaf.grad[:, k], alone.grad)


def test_batch_norm_is_over_nodes_and_images(graph, reference):
    deep = network(reference, norm="batch").train()
    norm, x = deep.blocks[0].norm, reference.normal(2, 7, 5, 4)
    torch.testing.assert_close(norm(graph, x), norm(None, x.flatten(0, 1)).view_as(x))


def test_graphs_of_a_batch_have_norms_of_their_own_for_every_image(reference):
    from lipgnn.norms import GraphNorm
    from lipgnn.runtime import dgl

    norm, x = GraphNorm(4).double(), reference.normal(2, 14, 5, 4)
    both = norm(dgl.batch([reference.small_graph(), reference.small_graph()]), x)
    for k in range(5):
        torch.testing.assert_close(both[:7, k], norm(None, x[:7, k]))
        torch.testing.assert_close(both[7:, k], norm(None, x[7:, k]))


@pytest.mark.parametrize("query_norm", ["node", "graph"])
def test_types_of_edges_and_a_query_norm_of_the_graph_are_those_of_each_image(query_norm, graph, reference):
    from lipgnn.nn import TransformerConv

    graph.edata[EDGE_TYPE] = torch.arange(graph.num_edges()) % 3
    conv = reference.redraw(TransformerConv(4, 2, 3, norm="lip", query_norm=query_norm, edge_types=3), seed=1)
    x = reference.normal(2, 7, 5, 4)
    x[:, 1] *= 100
    out = conv(graph, x)
    for k in range(5):
        torch.testing.assert_close(out[:, k], conv(graph, x[:, k]))


def test_dropout_and_edge_weights_mean_what_they_mean_for_one(graph, reference):
    from lipgnn.nn import TransformerConv

    conv = reference.redraw(TransformerConv(4, 2, 4, attn_drop=0.5), seed=1)
    x = reference.normal(2, 7, 1, 4).expand(7, 6, 4)
    weight = reference.normal(5, graph.num_edges()).abs()
    out = conv(graph, x, edge_weight=weight)
    # Drawn for every image: of six that are the same, all differ.
    assert len({tuple(out[:, k].flatten().tolist()) for k in range(6)}) == 6
    conv.eval()
    torch.testing.assert_close(conv(graph, x, edge_weight=weight)[:, 0], conv(graph, x[:, 0], edge_weight=weight))


def test_maps_are_applied_to_all_images_at_once(graph, reference, monkeypatch):
    from lipgnn.nn import TransformerConv

    seen = []
    linear = torch.nn.functional.linear
    monkeypatch.setattr(torch.nn.functional, "linear", lambda x, *more: seen.append(x.shape) or linear(x, *more))
    reference.redraw(TransformerConv(4, 2, 3), seed=1)(graph, reference.normal(2, 7, 5, 4))
    assert seen == [(35, 4)] * 4


def test_what_a_step_keeps_grows_with_nodes_and_images_and_not_with_edges(reference):
    from lipgnn.kernels import fused
    from lipgnn.nn import TransformerConv
    from lipgnn.runtime import dgl

    if fused.obstacle(torch.device("cpu")):
        pytest.skip("the fused kernel keeps nothing for an edge, and is not here")
    nodes, kept = 20, {}
    for edges, images in ((400, 2), (400, 4), (4000, 4)):
        graph = dgl.graph((torch.arange(edges) % nodes, torch.arange(edges) * 7 // 3 % nodes), num_nodes=nodes)
        graph.edata[EDGE_TYPE] = torch.arange(edges) % 3
        conv = reference.redraw(TransformerConv(8, 4, 2, norm="lip", edge_types=3, allow_zero_in_degree=True), seed=1)
        x = reference.normal(2, nodes, images, 8).requires_grad_()
        seen = {}
        with torch.autograd.graph.saved_tensors_hooks(lambda t, seen=seen: seen.update({t.data_ptr(): t}) or t, id):
            conv(graph, x)
        # The types of edges are those of the graph, the same for all images and layers.
        kept[edges, images] = sum(t.numel() for t in seen.values() if t.shape != (edges,))
    assert kept[4000, 4] == kept[400, 4]
    assert kept[400, 4] < 2 * kept[400, 2]
