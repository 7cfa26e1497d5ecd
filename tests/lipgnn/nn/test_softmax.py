"""The softmax over in-edges: DGL's in value and gradient, and right when it is differentiated again; sums by it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from lipgnn.nn.softmax import aggregate, edge_softmax
from lipgnn.runtime import dgl


class Twice(nn.Module):
    def forward(self, x):
        return 2 * x


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_is_that_of_dgl_to_the_last_bit(data, reference):
    graph = data.draw(reference.graphs(complete="nothing"))
    weights = reference.normal(1, graph.num_edges(), 2, 1)
    found = []
    for function in (edge_softmax, dgl.nn.functional.edge_softmax):
        scores = reference.normal(0, graph.num_edges(), 2, 1).requires_grad_()
        attention = function(graph, scores)
        found.append((attention, *torch.autograd.grad(attention, scores, weights)))
    assert all(map(torch.equal, *found))


def test_gradients_of_gradients_are_right_where_those_of_dgl_are_not(reference):
    graph = reference.small_graph()
    scores = reference.normal(0, graph.num_edges(), 2, 1).requires_grad_()
    assert torch.autograd.gradcheck(lambda scores: edge_softmax(graph, scores), scores)
    assert torch.autograd.gradgradcheck(lambda scores: edge_softmax(graph, scores), scores)


def test_can_be_differentiated_several_times_over_one_graph(reference):
    graph = reference.small_graph()
    scores = reference.normal(0, graph.num_edges(), 1, 1).requires_grad_()
    attention = edge_softmax(graph, scores)
    first, second = (torch.autograd.grad(attention.square().sum(), scores, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, second)


def test_nothing_is_differentiated_where_nothing_asks(reference):
    graph = reference.small_graph()
    assert not edge_softmax(graph, torch.zeros(graph.num_edges(), 1, 1)).requires_grad
    with torch.no_grad():
        assert not edge_softmax(graph, torch.zeros(graph.num_edges(), 1, 1, requires_grad=True)).requires_grad
    with pytest.raises(RuntimeError):
        edge_softmax(graph, torch.zeros(graph.num_edges(), 1, 1)).sum().backward()


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
