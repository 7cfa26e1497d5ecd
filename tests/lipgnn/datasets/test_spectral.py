"""Substitute features against a dense singular value decomposition."""

from __future__ import annotations

import numpy as np
import pytest

from lipgnn.datasets import load, spectral
from lipgnn.datasets.spectral import graph_svd, substitute


def _edges(pairs, nodes):
    loops = [(v, v) for v in range(nodes)]
    return np.array(sorted({*pairs, *loops}), dtype=np.int64).T


@pytest.fixture
def path_graph():
    """Sixteen nodes in a row, listed in one direction."""
    return _edges([(v, v + 1) for v in range(15)], 16)


def _dense(edges, nodes):
    adjacency = np.zeros((nodes, nodes))
    adjacency[edges[0], edges[1]] = adjacency[edges[1], edges[0]] = 1
    scale = adjacency.sum(axis=0) ** -0.5
    return adjacency * scale[:, None] * scale


def test_columns_are_the_singular_vectors_in_their_order(path_graph):
    features = graph_svd(path_graph, 16)
    vectors, values, _ = np.linalg.svd(_dense(path_graph, 16))
    assert features.shape == (16, 15) and features.dtype == np.float32
    assert (np.diff(values) < -1e-4).all(), "the test needs different singular values"
    directions = features / np.linalg.norm(features, axis=0)
    np.testing.assert_allclose(abs(np.sum(directions * vectors[:, :15], axis=0)), 1, atol=1e-5)


def test_columns_have_unit_variance_and_one_sign(path_graph):
    features = graph_svd(path_graph, 16)
    np.testing.assert_allclose(features.std(axis=0), 1, rtol=1e-5)
    for column in features.T:
        assert column[abs(column) >= 0.5 * abs(column).max()][0] > 0


def test_direction_does_not_matter_and_twice_is_the_same(path_graph):
    np.testing.assert_array_equal(graph_svd(path_graph, 16), graph_svd(path_graph[::-1], 16))
    np.testing.assert_array_equal(graph_svd(path_graph, 16), graph_svd(path_graph, 16))


def test_of_a_complete_graph_one_constant_column_is_left():
    """Its matrix is that of 1/N everywhere: rank one, and no variance."""
    features = graph_svd(_edges([(u, v) for u in range(5) for v in range(5)], 5), 5)
    np.testing.assert_allclose(features[:, 0], 5**-0.5, rtol=1e-5)
    assert not features[:, 1:].any()


def test_one_node_alone():
    assert graph_svd(np.zeros((2, 1), np.int64), 1).tolist() == [[1.0]]


def test_the_leading_space_of_a_larger_graph():
    """Above 144 nodes it is an approximation: it must hold 95 % of the energy of the best there is."""
    data = load("planted")
    features = graph_svd(data.edges, data.num_nodes)
    assert features.shape == (400, 128)
    dense = _dense(data.edges, data.num_nodes)
    basis, _ = np.linalg.qr(features.astype(np.float64))
    best = np.sort(np.linalg.svd(dense, compute_uv=False))[::-1][:128]
    assert np.linalg.norm(basis.T @ dense) ** 2 > 0.95 * (best**2).sum()


def test_it_is_computed_once(path_graph, tmp_path, monkeypatch):
    monkeypatch.setenv("LIPGNN_CACHE", str(tmp_path))
    first = substitute(path_graph, 16)
    monkeypatch.setattr(spectral, "graph_svd", None)
    np.testing.assert_array_equal(substitute(path_graph, 16), first)


@pytest.mark.parametrize("kept", [{"features": np.zeros((16, 3), np.float32)}, {"other": np.zeros(1)}])
def test_a_file_of_something_else_in_the_cache_is_not_taken(path_graph, tmp_path, monkeypatch, kept):
    monkeypatch.setenv("LIPGNN_CACHE", str(tmp_path))
    first = substitute(path_graph, 16)
    (file,) = tmp_path.iterdir()
    spectral.write_arrays(kept, file)
    np.testing.assert_array_equal(substitute(path_graph, 16), first)
