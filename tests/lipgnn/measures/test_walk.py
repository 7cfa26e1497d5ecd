"""Components and the walk's second eigenvalue, against closed forms and dense matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.sparse.linalg import ArpackNoConvergence

from lipgnn.measures import walk
from lipgnn.measures.walk import adjacency, component_count, components, second_eigenvalue


def ring(nodes, *, steps=(1,), loops=True, first=0):
    """Every node with those that lie so many steps on, both ways."""
    pairs = [(i, (i + step) % nodes) for i in range(nodes) for step in steps]
    edges = pairs + [(j, i) for i, j in pairs] + [(i, i) for i in range(nodes)] * loops
    return [(first + j, first + i) for j, i in edges]


def dense(edges, nodes):
    adjacency = np.zeros((nodes, nodes))
    for j, i in edges:
        adjacency[i, j] += 1
    return adjacency / adjacency.sum(axis=1, keepdims=True)


def test_components_ignore_direction(reference):
    labels = components(reference.small_graph(loops=False))
    assert labels.dtype == torch.int64
    assert labels.tolist() == [0, 0, 0, 0, 0, 0, 1]
    assert component_count(reference.small_graph(loops=False)) == 2
    assert component_count(reference.build([(2, 1), (0, 1)], nodes=3)) == 1


def test_a_row_of_the_adjacency_has_the_in_edges_of_its_node(reference):
    found = adjacency(reference.build([(0, 1), (2, 1), (2, 1), (1, 1)], nodes=3))
    assert found.toarray().tolist() == [[0, 0, 0], [1, 1, 2], [0, 0, 0]]


@pytest.mark.parametrize("nodes", [24, 301])
def test_second_eigenvalue_of_a_ring(nodes, reference):
    """A ring with loops has eigenvalues (1 + 2 cos(2πk/n)) / 3: by the dense way and by iteration."""
    graph = reference.build(ring(nodes), nodes=nodes)
    assert second_eigenvalue(graph) == pytest.approx((1 + 2 * math.cos(2 * math.pi / nodes)) / 3, abs=1e-6)


def test_second_eigenvalue_of_the_circulant_graph_of_the_specification(reference):
    assert second_eigenvalue(reference.build(ring(24, steps=(1, 2, 5)), nodes=24)) == pytest.approx(0.7402, abs=5e-5)


def test_second_eigenvalue_counts_without_sign(reference):
    """An even ring without loops is bipartite: the walk has the eigenvalue −1, and never settles."""
    assert second_eigenvalue(reference.build(ring(8, loops=False), nodes=8)) == pytest.approx(1)


def test_second_eigenvalue_of_a_complete_graph_is_zero(reference):
    edges = [(i, j) for i in range(5) for j in range(5)]
    assert second_eigenvalue(reference.build(edges, nodes=5)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("most, within", [(0, 1e-6), (200, 1e-9)])
@pytest.mark.parametrize("directed", [True, False])
def test_second_eigenvalue_of_any_graph_is_that_of_the_dense_walk(directed, most, within, monkeypatch, reference):
    monkeypatch.setattr(walk, "_DENSE", most)
    draw = np.random.default_rng(1)
    pairs = [tuple(pair) for pair in draw.integers(0, 30, size=(60, 2)).tolist()] + ring(30)
    edges = pairs if directed else pairs + [(j, i) for i, j in pairs]
    expected = np.sort(abs(np.linalg.eigvals(dense(edges, 30))))[-2]
    assert second_eigenvalue(reference.build(edges, nodes=30)) == pytest.approx(expected, abs=within)


def test_the_largest_component_is_the_one_that_counts(reference):
    edges = ring(5) + ring(24, steps=(1, 2, 5), first=5) + ring(4, first=29)
    alone = reference.build(ring(24, steps=(1, 2, 5)), nodes=24)
    assert second_eigenvalue(reference.build(edges, nodes=33)) == pytest.approx(second_eigenvalue(alone), abs=1e-12)


def test_there_is_no_second_eigenvalue_of_one_node_or_none(reference):
    assert second_eigenvalue(reference.build([(0, 0), (1, 1)], nodes=2)) is None
    assert second_eigenvalue(reference.build([], nodes=0)) is None
    assert component_count(reference.build([], nodes=0)) == 0


def test_an_iteration_that_does_not_converge_gives_none(monkeypatch, reference):
    def fail(*arguments, **options):
        raise ArpackNoConvergence("No convergence", np.empty(0), np.empty(0))

    monkeypatch.setattr(walk, "_DENSE", 0)
    monkeypatch.setattr(walk, "eigsh", fail)
    assert second_eigenvalue(reference.build(ring(8), nodes=8)) is None
