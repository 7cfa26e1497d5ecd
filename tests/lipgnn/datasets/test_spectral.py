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
    degree = adjacency.sum(axis=0)
    scale = (degree + degree.mean()) ** -0.5
    return adjacency * scale[:, None] * scale


def test_columns_are_the_singular_vectors_in_their_order(path_graph):
    vectors, values, _ = np.linalg.svd(_dense(path_graph, 16))
    assert (np.diff(values) < -1e-4).all(), "the test needs different singular values"
    expected = vectors[:, :15] / vectors[:, :15].std(axis=0)
    expected /= np.sqrt((expected**2).mean(axis=1, keepdims=True))
    features = graph_svd(path_graph, 16)
    assert features.shape == (16, 15) and features.dtype == np.float32
    # A vector and its opposite are both right.
    np.testing.assert_allclose(features * np.sign((features * expected).sum(axis=0)), expected, atol=1e-5)


def test_of_two_opposite_vectors_the_one_with_a_positive_beginning_is_taken(path_graph):
    """Each singular vector of a path begins with an entry that is no small one."""
    vectors, _, _ = np.linalg.svd(_dense(path_graph, 16))
    for index, column in enumerate(graph_svd(path_graph, 16).T):
        vector = vectors[:, index]
        first = np.flatnonzero(abs(vector) >= 0.5 * abs(vector).max())[0]
        assert column[first] > 0


def test_direction_does_not_matter_and_twice_is_the_same(path_graph):
    np.testing.assert_array_equal(graph_svd(path_graph, 16), graph_svd(path_graph[::-1], 16))
    np.testing.assert_array_equal(graph_svd(path_graph, 16), graph_svd(path_graph, 16))


def test_of_a_complete_graph_one_constant_column_is_left():
    """Its matrix is the same number everywhere: rank one, and a vector without variance."""
    features = graph_svd(_edges([(u, v) for u in range(5) for v in range(5)], 5), 5)
    np.testing.assert_allclose(features, [[2, 0, 0, 0]] * 5, atol=1e-6)


def test_one_node_alone():
    assert graph_svd(np.zeros((2, 1), np.int64), 1).tolist() == [[1.0]]


def test_the_leading_space_of_a_larger_graph():
    """Above 144 nodes it is an approximation: it must hold 95 % of the energy of the best there is."""
    data = load("planted")
    features = graph_svd(data.edges, data.num_nodes).astype(np.float64)
    assert features.shape == (400, 128)
    np.testing.assert_allclose((features**2).mean(axis=1), 1, rtol=1e-5)
    dense = _dense(data.edges, data.num_nodes)
    vectors, values, _ = np.linalg.svd(dense)
    # The rows were scaled: of each, find the scale back by its first and largest vector.
    rows = abs(vectors[:, 0]) / abs(features[:, 0])
    basis, _ = np.linalg.qr(features * rows[:, None])
    assert np.linalg.norm(basis.T @ dense) ** 2 > 0.95 * (values[:128] ** 2).sum()


def test_the_substitute_tells_classes_apart():
    """Nearest mean of the training nodes, on a graph of four communities: twice as good as chance."""
    data = load("planted", features="svd")
    train, labels = data.split.train, data.labels_array
    means = np.stack([data.features_array[train & (labels == k)].mean(axis=0) for k in range(data.num_classes)])
    nearest = (data.features_array @ means.T).argmax(axis=1)
    assert (nearest == labels)[data.split.test].mean() > 0.5


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
