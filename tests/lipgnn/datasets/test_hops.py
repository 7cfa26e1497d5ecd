"""Shortest paths against scipy's."""

import numpy as np
import pytest
from scipy import sparse

from lipgnn.datasets import hops
from lipgnn.datasets.hops import count_hops


@pytest.mark.parametrize("num_nodes, num_edges", [(1, 0), (5, 0), (6, 8), (40, 60), (200, 260), (200, 3000)])
@pytest.mark.parametrize("most_words", [1, 2**22], ids=["in turns", "at once"])
def test_lengths_are_those_of_scipy(monkeypatch, num_nodes, num_edges, most_words):
    monkeypatch.setattr(hops, "_MOST_WORDS", most_words)
    draw = np.random.RandomState(num_edges)
    edges = draw.randint(num_nodes, size=(2, num_edges))
    ones = np.ones(num_edges)
    graph = sparse.csr_array((ones, (edges[0], edges[1])), shape=(num_nodes, num_nodes))
    starts, ends = (grid.ravel() for grid in np.meshgrid(np.arange(num_nodes), np.arange(num_nodes)))
    expected = sparse.csgraph.shortest_path(graph, unweighted=True)[starts, ends]
    found = count_hops(edges, num_nodes, starts, ends)
    assert found.tolist() == np.where(np.isfinite(expected), expected, -1).astype(int).tolist()


def test_a_path_of_a_hundred_nodes_leads_one_way():
    edges = np.stack([np.arange(99), np.arange(1, 100)])
    assert count_hops(edges, 100, np.array([0, 0, 99, 7]), np.array([99, 50, 0, 7])).tolist() == [99, 50, -1, 0]


def test_no_pairs_have_no_lengths():
    nothing = np.zeros(0, dtype=int)
    assert count_hops(np.array([[0], [1]]), 2, nothing, nothing).shape == (0,)
