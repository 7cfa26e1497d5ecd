"""The softmax over in-edges: DGL's in value and gradient, and right when it is differentiated again."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.nn.softmax import edge_softmax
from lipgnn.runtime import dgl


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
