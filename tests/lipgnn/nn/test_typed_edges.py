"""TransformerConv with types of edges: equal to loops over edges and to PyTorch Geometric's, within its bound."""

from __future__ import annotations

import types
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.errors import DataError, UsageError
from lipgnn.nn import TransformerConv
from lipgnn.nn.spread import spread_of
from lipgnn.runtime import EDGE_TYPE, dgl

pytestmark = pytest.mark.usefixtures("each_kernel")

TYPES = 4
NORMS = [{}, {"norm": "lip", "kappa": 0.25}, {"norm": "lip", "query_norm": "graph"}]


def typed(graph: dgl.DGLGraph, seed: int = 0, count: int = TYPES) -> dgl.DGLGraph:
    """The graph with a type for every edge."""
    drawn = np.random.default_rng(seed).integers(0, count, graph.num_edges())
    graph.edata[EDGE_TYPE] = torch.from_numpy(drawn)
    return graph


def loops(reference, conv: TransformerConv, graph, x: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The layer by loops over edges, from its state dict alone: output and attention weights."""
    state, edges = reference.arrays(conv), reference.edges_of(graph)
    maps = {name: x.numpy() @ state[f"{name}.weight"].T + state[f"{name}.bias"] for name in ("query", "key", "value")}
    query, key, value = (reference.heads(out, conv.num_heads) for out in maps.values())
    codes = np.stack([state["edge_type"][t] for t in graph.edata[EDGE_TYPE].tolist()])
    options = () if conv.norm is None else (conv.norm.kappa, conv.norm.query_norm)
    scores = reference.dot_scores(edges, query, key, value, *options, codes=codes)
    out, attention = reference.attend(edges, scores, value)
    skip = x.numpy() @ state["skip.weight"].T + state["skip.bias"]
    return out + reference.heads(skip, conv.num_heads), attention


@settings(max_examples=30, deadline=None)
@given(data=st.data(), options=st.sampled_from(NORMS), heads=st.sampled_from([3, 4]))
def test_equals_loops_over_edges(data, options, heads, reference):
    graph = typed(data.draw(reference.graphs()))
    conv = reference.redraw(TransformerConv(4, 2, heads, edge_types=TYPES, **options), seed=1)
    x = reference.normal(2, graph.num_nodes(), 4)
    with torch.no_grad():
        out, attention = conv(graph, x, get_attention=True)
        torch.testing.assert_close(conv(graph, x), out, atol=1e-12, rtol=1e-12)
        spread = conv.spread(graph, x)
    expected = loops(reference, conv, graph, x)
    np.testing.assert_allclose(out, expected[0], atol=1e-10)
    np.testing.assert_allclose(attention.squeeze(-1), expected[1], atol=1e-10)
    for found, wanted in zip(spread, spread_of(graph, attention.squeeze(-1)), strict=True):
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("options", NORMS)
def test_gradients_are_those_of_the_function(options, reference):
    graph = typed(reference.small_graph())
    conv = reference.redraw(TransformerConv(4, 2, 3, edge_types=TYPES, **options), seed=1)
    names = [name for name, _ in conv.named_parameters()]

    def function(x, *parameters):
        return torch.func.functional_call(conv, dict(zip(names, parameters, strict=True)), (graph, x))

    inputs = [reference.normal(3, 7, 4), *(parameter.detach() for parameter in conv.parameters())]
    assert "edge_type" in names
    assert torch.autograd.gradcheck(function, [x.requires_grad_() for x in inputs])


def test_equals_pytorch_geometric_where_codes_cannot_reach_its_values(reference, pyg):
    # PyTorch Geometric adds what it makes of an edge to the value as well. With heads of two halves, scores that are
    # made of the first alone, and values in the second alone, that second half is ours: the codes have none.
    graph, heads, half = typed(reference.small_graph()), 3, 2
    theirs = reference.redraw(pyg.TransformerConv(4, 2 * half, heads=heads, edge_dim=TYPES, root_weight=False), seed=6)
    firsts = (torch.arange(heads * 2 * half) % (2 * half)) < half
    with torch.no_grad():
        for linear in (theirs.lin_query, theirs.lin_key, theirs.lin_edge):
            linear.weight[~firsts] = 0
        for linear in (theirs.lin_query, theirs.lin_key):
            linear.bias[~firsts] = 0
        theirs.lin_value.weight[firsts] = 0
        theirs.lin_value.bias[firsts] = 0
    ours = TransformerConv(4, 2 * half, heads, skip=False, edge_types=TYPES).double()
    with torch.no_grad():
        for name in ("query", "key", "value"):
            getattr(ours, name).load_state_dict(getattr(theirs, f"lin_{name}").state_dict())
        ours.edge_type.copy_(theirs.lin_edge.weight.t().unflatten(1, (heads, 2 * half)))
    x = reference.normal(3, 7, 4)
    features = torch.nn.functional.one_hot(graph.edata[EDGE_TYPE], TYPES).double()
    expected, (_, weights) = theirs(x, torch.stack(graph.edges()), features, return_attention_weights=True)
    out, attention = ours(graph, x, get_attention=True)
    torch.testing.assert_close(attention.squeeze(-1), weights)
    expected = expected.unflatten(1, (heads, 2 * half))[..., half:]
    torch.testing.assert_close(out[..., half:], expected)
    for result in (ours(graph, x)[..., half:], expected):
        result.square().sum().backward()
    of_codes = theirs.lin_edge.weight.grad.t().unflatten(1, (heads, 2 * half))
    torch.testing.assert_close(ours.edge_type.grad[..., :half], of_codes[..., :half])


@pytest.mark.parametrize("options", NORMS)
def test_codes_of_zero_change_nothing(options, reference):
    graph, x = typed(reference.small_graph()), reference.normal(3, 7, 4)
    coded = reference.redraw(TransformerConv(4, 2, 3, edge_types=TYPES, **options), seed=1)
    plain = TransformerConv(4, 2, 3, **options).double()
    plain.load_state_dict({name: each for name, each in coded.state_dict().items() if name != "edge_type"})
    torch.nn.init.zeros_(coded.edge_type)
    torch.testing.assert_close(coded(graph, x), plain(graph, x))


@pytest.mark.parametrize("options", NORMS)
def test_types_may_be_numbered_in_any_way(options, reference):
    graph, x = typed(reference.small_graph()), reference.normal(3, 7, 4)
    conv = reference.redraw(TransformerConv(4, 2, 3, edge_types=TYPES, **options), seed=1)
    before = conv(graph, x)
    order = torch.tensor([2, 0, 3, 1])
    graph.edata[EDGE_TYPE] = order[graph.edata[EDGE_TYPE]]
    with torch.no_grad():
        conv.edge_type.copy_(conv.edge_type[order.argsort()])
    torch.testing.assert_close(conv(graph, x), before)


@settings(max_examples=15, deadline=None)
@given(data=st.data(), size=st.sampled_from([0.1, 1.0, 30.0]), query_norm=st.sampled_from(["node", "graph"]))
def test_no_jacobian_is_larger_than_the_certified_bound(data, size, query_norm, reference):
    graph = typed(data.draw(reference.graphs(max_nodes=4)))
    conv = TransformerConv(3, 2, 2, norm="lip", query_norm=query_norm, edge_types=TYPES)
    reference.redraw(conv, seed=data.draw(st.integers(0, 9)))
    with torch.no_grad():
        conv.edge_type.mul_(size)
    x = reference.normal(data.draw(st.integers(0, 99)), graph.num_nodes(), 3)
    found = reference.spectral_norm(reference.jacobian(partial(conv, graph), x))
    bound = conv.lipschitz_bound(graph)
    assert found <= bound
    torch.nn.init.zeros_(conv.edge_type)
    assert conv.lipschitz_bound(graph) == bound


@pytest.mark.parametrize("options", NORMS)
def test_a_key_that_its_code_takes_away_is_safe(options, reference):
    # k + e is zero, or as good as, on all edges: |k|² + 2 k·e + |e|² would be rounding errors alone.
    graph = reference.small_graph()
    graph.edata[EDGE_TYPE] = torch.zeros(graph.num_edges(), dtype=torch.int64)
    for dtype, size in ((torch.float32, 1e4), (torch.float32, 1e-30), (torch.float64, 1e30), (torch.float64, 1e-30)):
        conv = reference.redraw(TransformerConv(2, 2, 1, edge_types=1, **options), seed=1, dtype=dtype)
        with torch.no_grad():
            conv.key.weight.zero_()
            conv.key.bias.copy_(torch.tensor([3.0, 4.0]) * size)
            conv.edge_type.copy_(-conv.key.bias.view(1, 1, 2))
        x = reference.normal(3, 7, 2, dtype=dtype).requires_grad_()
        out, attention = conv(graph, x, get_attention=True)
        degrees = graph.in_degrees()[graph.edges()[1]].to(dtype)
        torch.testing.assert_close(attention.flatten() * degrees, torch.ones_like(degrees))
        again = conv(graph, x)
        torch.testing.assert_close(again, out)
        again.sum().backward()
        assert x.grad.isfinite().all() and all(own.grad.isfinite().all() for own in conv.parameters())


def test_a_message_flow_graph_keeps_the_types_of_its_edges(reference):
    graph, x = typed(reference.small_graph()), reference.normal(3, 7, 4)
    conv = reference.redraw(TransformerConv(4, 2, 3, norm="lip", edge_types=TYPES), seed=1)
    wanted = torch.tensor([5, 2])
    block = dgl.to_block(dgl.in_subgraph(graph, wanted), wanted)
    out = conv(block, x[block.srcdata[dgl.NID]])
    torch.testing.assert_close(out, conv(graph, x)[wanted])


def test_every_image_of_a_batch_axis_is_computed_by_itself(reference):
    graph, x = typed(reference.small_graph()), reference.normal(3, 7, 2, 3, 4)
    conv = reference.redraw(TransformerConv(4, 2, 3, norm="lip", edge_types=TYPES), seed=1)
    out = conv(graph, x)
    assert out.shape == (7, 2, 3, 3, 2)
    for a in range(2):
        for b in range(3):
            torch.testing.assert_close(out[:, a, b], conv(graph, x[:, a, b]))


def test_what_is_no_type_is_refused(reference):
    graph, x = reference.small_graph(), reference.normal(3, 7, 4)
    conv = TransformerConv(4, 2, 3, edge_types=2).double()
    with pytest.raises(DataError, match="does not say of which its edges are"):
        conv(graph, x)
    graph.edata[EDGE_TYPE] = torch.full((16,), 2)
    with pytest.raises(DataError, match="of type 2, and the layer has 2 types"):
        conv(graph, x)
    with pytest.raises(UsageError, match="edge_types must be a number of types"):
        TransformerConv(4, 2, 3, edge_types=-1)


def test_without_edge_types_the_layer_is_as_it_was(reference):
    conv = TransformerConv(4, 2, 3)
    assert not [name for name in conv.state_dict() if "edge_type" in name]
    graph, x = reference.small_graph(), reference.normal(3, 7, 4, dtype=torch.float32)
    before = conv(graph, x)
    assert torch.equal(before, conv(typed(graph), x))


def test_a_kernel_that_does_not_know_types_is_refused(reference, monkeypatch):
    other = types.ModuleType("other")
    monkeypatch.setattr("lipgnn.nn.attention.implementation", lambda requested, device: other)
    conv = TransformerConv(4, 2, 3, edge_types=2, kernel="triton")
    with pytest.raises(UsageError, match="Kernel 'triton' does not know types of edges") as caught:
        conv.kernel_on(torch.device("cpu"))
    assert caught.value.hint == "Use kernel='auto' or 'dgl'."
    assert TransformerConv(4, 2, 3, kernel="triton").kernel_on(torch.device("cpu")) is other


def test_codes_are_drawn_anew_with_all_weights():
    conv = TransformerConv(4, 2, 3, edge_types=500)
    before = conv.edge_type.clone()
    conv.reset_parameters()
    assert not torch.equal(conv.edge_type, before)
    assert abs(conv.edge_type.std().item() - 1) < 0.1
