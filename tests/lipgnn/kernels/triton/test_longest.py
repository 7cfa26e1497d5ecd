"""The longest neighbour: its length, and its gradient to the first of those that are longest."""

from __future__ import annotations

import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from lipgnn.kernels.adjacency import Adjacency
from lipgnn.kernels.triton.longest import Longest


def passes(graph, length, grad):
    length = length.clone().requires_grad_()
    longest = Longest.apply(length, Adjacency.of(graph))
    longest.backward(grad)
    return longest.detach(), length.grad


def by_loops(graph, length, grad):
    """The same by loops over the edges in the order of DGL's columns."""
    start, sources, _ = (part.tolist() for part in graph.adj_tensors("csc"))
    longest, grad_length = torch.zeros_like(length), torch.zeros_like(length)
    for i in range(len(length)):
        entering = sources[start[i] : start[i + 1]]
        for h in range(length.shape[1]) if entering else ():
            first = max(entering, key=lambda j: length[j, h].item())
            longest[i, h] = length[first, h]
            grad_length[first, h] += grad[i, h]
    return longest, grad_length


@settings(max_examples=10, deadline=None, phases=[Phase.generate])  # small as they are; to shrink would take minutes
@given(data=st.data(), seed=st.integers(0, 2**16))
def test_equals_loops_over_edges_with_many_ties(data, seed, interpreter, reference):
    graph = data.draw(reference.graphs(complete="nothing", max_nodes=5))
    length = reference.normal(seed, graph.num_nodes(), 2, 1).abs().round()
    grad = reference.normal(seed + 1, *length.shape)
    torch.testing.assert_close(passes(graph, length, grad), by_loops(graph, length, grad))


def test_the_longest_may_be_in_any_block(interpreter, reference):
    # Node 5 enters node 0 after a block of shorter ones and before blocks of node 11, which is as long. It leaves for
    # more than a block of nodes, twice for each.
    edges = [(1 + e % 4, 0) for e in range(40)] + [(5, 0)] + [(11, 0)] * 40 + [(5, 6 + e // 2) for e in range(70)]
    graph = reference.build(edges, nodes=41)
    length, grad = torch.arange(41.0).view(41, 1, 1).fmod(6), reference.normal(0, 41, 1, 1, dtype=torch.float32)
    torch.testing.assert_close(passes(graph, length, grad), by_loops(graph, length, grad))
