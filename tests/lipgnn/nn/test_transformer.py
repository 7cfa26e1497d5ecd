"""TransformerConv: equal to PyTorch Geometric's without a norm, to loops over edges always, within its bound."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from lipgnn.errors import DataError, UsageError
from lipgnn.nn import TransformerConv

pytestmark = pytest.mark.usefixtures("each_kernel")

QUERY_NORMS = ["node", "graph"]


def loops(reference, conv: TransformerConv, graph, x: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The layer by loops over edges, from its state dict alone: output and attention weights."""
    state, edges = reference.arrays(conv), reference.edges_of(graph)

    def linear(name: str) -> np.ndarray:
        out = x.numpy() @ state[f"{name}.weight"].T + state.get(f"{name}.bias", 0.0)
        return reference.heads(out, conv.num_heads)

    query, key, value = (linear(name) for name in ("query", "key", "value"))
    options = () if conv.norm is None else (conv.norm.kappa, conv.norm.query_norm)
    out, attention = reference.attend(edges, reference.dot_scores(edges, query, key, value, *options), value)
    return (out if conv.skip is None else out + linear("skip")), attention


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("skip", [True, False])
@pytest.mark.parametrize("heads", [1, 3])
def test_equals_pytorch_geometric_with_its_weights(heads, skip, bias, reference, pyg):
    graph = reference.small_graph()
    ours = TransformerConv(4, 2, heads, skip=skip, bias=bias)
    theirs = pyg.TransformerConv(4, 2, heads=heads, root_weight=skip, bias=bias)
    reference.redraw(theirs, seed=6, dtype=torch.float32)
    state = {name.removeprefix("lin_"): tensor for name, tensor in theirs.state_dict().items()}
    used = {name: tensor for name, tensor in state.items() if skip or not name.startswith("skip")}
    ours.load_state_dict(used, strict=True)

    x = reference.normal(3, 7, 4, dtype=torch.float32).requires_grad_()
    edge_index = torch.stack(graph.edges())
    expected, (_, weights) = theirs(x, edge_index, return_attention_weights=True)
    out, attention = ours(graph, x, get_attention=True)
    torch.testing.assert_close(out.flatten(1), expected, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(attention.squeeze(-1), weights, atol=1e-6, rtol=1e-6)
    input_gradients = [torch.autograd.grad(y.square().sum(), x, retain_graph=True)[0] for y in (out, expected)]
    torch.testing.assert_close(*input_gradients, atol=1e-4, rtol=1e-5)
    for result in (out, expected):
        result.square().sum().backward()
    for name, parameter in ours.named_parameters():
        torch.testing.assert_close(parameter.grad, theirs.get_parameter(f"lin_{name}").grad, atol=1e-4, rtol=1e-5)


@settings(max_examples=40, deadline=None)
@given(
    data=st.data(),
    norm=st.sampled_from([None, "lip"]),
    query_norm=st.sampled_from(QUERY_NORMS),
    kappa=st.sampled_from([0.25, 1.0]),
    skip=st.booleans(),
    bias=st.booleans(),
)
def test_equals_loops_over_edges(data, norm, query_norm, kappa, skip, bias, reference):
    graph = data.draw(reference.graphs())
    conv = TransformerConv(4, 2, 3, skip=skip, bias=bias, norm=norm, kappa=kappa, query_norm=query_norm)
    reference.redraw(conv, seed=1)
    x = reference.normal(2, graph.num_nodes(), 4)
    with torch.no_grad():
        out, attention = conv(graph, x, get_attention=True)
        # Without the weights, a fused kernel computes.
        torch.testing.assert_close(conv(graph, x), out, atol=1e-12, rtol=1e-12)
    assert out.shape == (graph.num_nodes(), 3, 2) and attention.shape == (graph.num_edges(), 3, 1)
    expected = loops(reference, conv, graph, x)
    np.testing.assert_allclose(out, expected[0], atol=1e-10)
    np.testing.assert_allclose(attention.squeeze(-1), expected[1], atol=1e-10)


@settings(max_examples=20, deadline=None)
@given(
    data=st.data(),
    query_norm=st.sampled_from(QUERY_NORMS),
    kappa=st.sampled_from([0.25, 1.0, 4.0]),
    seed=st.integers(0, 2**16),
)
def test_normalized_scores_are_within_one_over_kappa(data, query_norm, kappa, seed, reference):
    graph = data.draw(reference.graphs(complete="entered"))
    conv = TransformerConv(4, 2, 3, norm="lip", kappa=kappa, query_norm=query_norm).double()
    sizes = 10 ** (2 * reference.normal(seed, 3, graph.num_nodes(), 3, 1))
    query, key, value = sizes * reference.normal(seed + 1, 3, graph.num_nodes(), 3, 2)
    scores = conv.scores(graph, query, key, value)
    assert scores.shape == (graph.num_edges(), 3, 1)
    assert scores.abs().max() <= (1 + 1e-12) / kappa


@pytest.mark.parametrize("query_norm", QUERY_NORMS)
def test_the_score_bound_is_attained_by_parallel_query_and_longest_key(query_norm, reference):
    graph = reference.build([(0, 0)], nodes=1)
    conv = TransformerConv(2, 2, 1, norm="lip", kappa=0.5, query_norm=query_norm).double()
    x = torch.tensor([[[3.0, 4.0]]], dtype=torch.float64)
    assert conv.scores(graph, 7 * x, 2 * x, x).item() == pytest.approx(2.0)


@pytest.mark.parametrize("norm", [None, "lip"])
def test_a_node_without_in_edges_is_refused_by_name_or_gives_the_skip_alone(norm, reference):
    graph = reference.small_graph(loops=False)  # nothing enters node 6
    x = reference.normal(0, 7, 4)
    with pytest.raises(DataError, match=r"1 node\(s\) have no in-edge, the first: 6;"):
        reference.redraw(TransformerConv(4, 2, 3, norm=norm), seed=1)(graph, x)
    conv = reference.redraw(TransformerConv(4, 2, 3, allow_zero_in_degree=True, norm=norm), seed=1)
    torch.testing.assert_close(conv(graph, x)[6].flatten(), conv.skip(x[6]))


@pytest.mark.parametrize("norm", [None, "lip"])
def test_a_node_without_in_edges_has_no_part_in_the_gradients(norm, reference):
    conv = reference.redraw(TransformerConv(4, 2, 3, allow_zero_in_degree=True, norm=norm), seed=1)
    x = reference.normal(0, 7, 4)
    gradients = []
    for graph, nodes in ((reference.small_graph(loops=False), 7), (reference.build(reference.SMALL, nodes=6), 6)):
        part = x[:nodes].clone().requires_grad_()
        conv(graph, part)[:6].square().sum().backward()
        gradients.append(part.grad)
    assert not gradients[0][6].any()
    torch.testing.assert_close(gradients[0][:6], gradients[1])


@pytest.mark.parametrize("norm", [None, "lip"])
@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_without_any_edge_the_output_is_the_skip(nodes, norm, reference):
    conv = reference.redraw(TransformerConv(4, 2, 3, allow_zero_in_degree=True, norm=norm), seed=1)
    x = reference.normal(0, nodes, 4)
    torch.testing.assert_close(conv(reference.build([], nodes=nodes), x).flatten(1), conv.skip(x))


def test_an_unknown_norm_lists_the_names():
    with pytest.raises(UsageError, match="Unknown score norm 'lipschitz'") as caught:
        TransformerConv(4, 2, 3, norm="lipschitz")
    assert caught.value.hint.endswith("Valid: lip.")


def test_a_norm_of_ones_own_makes_the_scores(reference):
    class Flat(nn.Module):
        def forward(self, graph, query, key, value):
            self.received = (query, key, value)
            return query.new_zeros(graph.num_edges(), 3, 1)

    graph, x, norm = reference.small_graph(), reference.normal(0, 7, 4), Flat()
    conv = reference.redraw(TransformerConv(4, 2, 3, norm=norm), seed=1)
    _, attention = conv(graph, x, get_attention=True)
    degrees = graph.in_degrees()[graph.edges()[1]]
    torch.testing.assert_close(attention, (1 / degrees.double()).view(-1, 1, 1).expand(-1, 3, 1))
    expected = tuple(linear(x).view(7, 3, 2) for linear in (conv.query, conv.key, conv.value))
    torch.testing.assert_close(norm.received, expected)


def test_kappa_and_query_norm_reach_the_norm():
    norm = TransformerConv(4, 2, 3, norm="lip", kappa=0.5, query_norm="graph").norm
    assert (norm.kappa, norm.query_norm) == (0.5, "graph")
    norm = TransformerConv(4, 2, 3, norm="lip").norm
    assert (norm.kappa, norm.query_norm) == (1.0, "node")


def test_dropout_in_training_only(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    plain = reference.redraw(TransformerConv(4, 2, 3, norm="lip"), seed=1)
    for drop in ("feat_drop", "attn_drop"):
        conv = reference.redraw(TransformerConv(4, 2, 3, norm="lip", **{drop: 0.5}), seed=1)
        assert not torch.equal(conv(graph, x), conv(graph, x))
        conv.eval()
        torch.testing.assert_close(conv(graph, x), plain(graph, x), atol=0, rtol=0)


def test_nothing_is_left_on_the_graph(reference):
    graph = reference.small_graph()
    for norm in (None, "lip"):
        TransformerConv(4, 2, 3, norm=norm)(graph, torch.ones(7, 4))
        assert not graph.ndata and not graph.edata


@pytest.mark.parametrize("skip", [True, False])
@pytest.mark.parametrize("query_norm", QUERY_NORMS)
def test_the_bound_is_the_formula_of_its_docstring(query_norm, skip, reference):
    graph = reference.small_graph()
    conv = TransformerConv(4, 2, 3, skip=skip, norm="lip", kappa=2.0, query_norm=query_norm)
    reference.redraw(conv, seed=4)
    local, shared = {"node": (math.sqrt(2), 0.0), "graph": (math.sqrt(0.5), math.sqrt(0.5))}[query_norm]
    edges = reference.edges_of(graph)
    attention = reference.certified_bound(edges, 7, lambda n: math.exp(0.5) / math.sqrt(n) + local) + shared
    maps = reference.spectral_norm(torch.cat([conv.query.weight, conv.key.weight, conv.value.weight]).detach())
    added = reference.spectral_norm(conv.skip.weight.detach()) if skip else 0.0
    assert conv.lipschitz_bound(graph) == pytest.approx(attention * maps + added, rel=1e-12)


@settings(max_examples=30, deadline=None)
@given(
    data=st.data(),
    complete=st.sampled_from(["loops", "entered"]),
    query_norm=st.sampled_from(QUERY_NORMS),
    kappa=st.sampled_from([0.5, 1.0, 4.0]),
    skip=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_the_jacobian_stays_within_the_bound(data, complete, query_norm, kappa, skip, seed, reference):
    graph = data.draw(reference.graphs(complete=complete, max_nodes=5))
    conv = TransformerConv(4, 2, 3, skip=skip, norm="lip", kappa=kappa, query_norm=query_norm)
    reference.redraw(conv, seed=seed)
    sizes = 10 ** (2 * reference.normal(seed + 1, graph.num_nodes(), 1))
    x = sizes * reference.normal(seed + 2, graph.num_nodes(), 4)
    assert reference.spectral_norm(reference.jacobian(partial(conv, graph), x)) <= conv.lipschitz_bound(graph)


def test_without_a_norm_there_is_no_bound_and_the_jacobian_grows_with_the_features(reference):
    # Query (1, 0)·s against opposite keys and values (0, ±s): the scores are equal, and weight moved from one
    # neighbour to the other moves the output by s.
    graph = reference.build([(0, 2), (1, 2), (0, 0), (1, 1)], nodes=3)
    layers = {norm: TransformerConv(2, 2, 1, skip=False, bias=False, norm=norm).double() for norm in (None, "lip")}
    for conv in layers.values():
        with torch.no_grad():
            for linear in (conv.query, conv.key, conv.value):
                linear.weight.copy_(torch.eye(2))
    bound = layers["lip"].lipschitz_bound(graph)
    assert layers[None].lipschitz_bound(graph) == math.inf
    for s in (1e2, 1e4):
        x = torch.tensor([[0, s], [0, -s], [s, 0]], dtype=torch.float64)
        plain, lip = (reference.spectral_norm(reference.jacobian(partial(conv, graph), x)) for conv in layers.values())
        assert plain > s / 2 > bound >= lip
