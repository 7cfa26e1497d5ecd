"""GCNConv against the sum of its docstring."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.nn import GCNConv


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_equals_loops_over_edges(data, reference):
    graph = data.draw(reference.graphs())
    conv = reference.redraw(GCNConv(4, 3), seed=1)
    x = reference.normal(2, graph.num_nodes(), 4)
    weight, bias = conv.weight.detach().numpy(), conv.bias.detach().numpy()  # (4, 3), (3,)
    edges = reference.edges_of(graph)
    entering = [sum(target == i for _, target in edges) for i in range(graph.num_nodes())]
    leaving = [sum(source == i for source, _ in edges) for i in range(graph.num_nodes())]
    expected = np.tile(bias, (graph.num_nodes(), 1))
    for j, i in edges:
        expected[i] += x[j].numpy() @ weight / math.sqrt(entering[i] * leaving[j])
    np.testing.assert_allclose(conv(graph, x).detach(), expected, atol=1e-10)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4)])  # DGL multiplies by the weight first or last
def test_on_a_symmetric_graph_it_is_the_normalized_adjacency_matrix(shape, reference):
    pairs = [(0, 1), (1, 2), (2, 0), (2, 3)]
    graph = reference.build(pairs + [(b, a) for a, b in pairs] + [(i, i) for i in range(4)], nodes=4)
    conv = reference.redraw(GCNConv(*shape), seed=1)
    adjacency = np.array([[1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 1], [0, 0, 1, 1.0]])
    root = np.diag(adjacency.sum(0) ** -0.5)
    x = reference.normal(2, 4, shape[0])
    expected = root @ adjacency @ root @ x.numpy() @ conv.weight.detach().numpy() + conv.bias.detach().numpy()
    np.testing.assert_allclose(conv(graph, x).detach(), expected, atol=1e-10)


@pytest.mark.parametrize("bias", [True, False])
def test_mixed_with_the_first_features_it_is_the_sum_of_both(bias, reference):
    graph = reference.small_graph()
    conv = reference.redraw(GCNConv(4, 4, bias=bias), seed=1)
    x, start = (reference.normal(seed, 7, 4).requires_grad_() for seed in (2, 3))
    together = conv.mixed(graph, x, start, 0.3)
    apart = 0.7 * conv(graph, x) + 0.3 * conv.values(start)
    inputs = [x, start, *conv.parameters()]
    for a, b in zip((together, *grads(together, inputs)), (apart, *grads(apart, inputs)), strict=True):
        np.testing.assert_allclose(a.detach(), b.detach(), atol=1e-12)


def grads(out, inputs):
    return torch.autograd.grad(out.square().sum(), inputs)


def test_a_node_without_in_edges_gives_the_bias(reference):
    conv = reference.redraw(GCNConv(4, 3), seed=1)
    out = conv(reference.small_graph(loops=False), reference.normal(0, 7, 4))
    np.testing.assert_allclose(out[6].detach(), conv.bias.detach(), atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_bound_is_the_norm_of_the_map_and_is_reached(data, reference):
    """On directed graphs with doubled edges too; the roots of the degrees are the vector that is not shortened."""
    graph = data.draw(reference.graphs())
    conv = reference.redraw(GCNConv(3, 2), seed=data.draw(st.integers(0, 99)))
    x = reference.normal(2, graph.num_nodes(), 3)
    stretch = reference.spectral_norm(reference.jacobian(partial(conv, graph), x))
    assert conv.certified(graph).value == pytest.approx(stretch, rel=1e-10)
    assert conv.certified(graph).value == pytest.approx(reference.spectral_norm(conv.weight.detach()), rel=1e-12)
