"""Sources refuse parts that do not fit, and say where they came from and why."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from lipgnn.datasets import Split
from lipgnn.errors import DataError


def _split(train=(0,), val=(1,), test=(2,), nodes=6):
    masks = np.zeros((3, nodes), dtype=bool)
    for mask, index in zip(masks, (train, val, test), strict=True):
        mask[list(index)] = True
    return {"public": Split(*masks)}


TASKS = np.array([[0, 1, 1]] * 4 + [[1, np.nan, 0]] + [[np.nan] * 3], dtype=np.float32)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"edges": np.array([[0], [6]])}, "node 6, outside 0..5"),
        ({"edges": np.array([[-1], [0]])}, "node -1, outside 0..5"),
        ({"edges": np.zeros((3, 2), dtype=np.int64)}, "edges are int64 of shape (3, 2)"),
        ({"edges": np.zeros((2, 1))}, "edges are float64"),
        ({"edge_types": np.zeros(5, np.int64)}, "types of edges are int64 of shape (5,), not int64 of shape (6,)"),
        ({"edge_types": np.zeros(6)}, "types of edges are float64"),
        ({"edge_types": np.array([0, 1, -1, 0, 0, 0])}, "an edge is of type -1, and types count from 0"),
        ({"edge_types": np.array([0, 1, 1000, 0, 0, 0])}, "type 1000 leaves most types without one of the 6 edges"),
        ({"labels": np.array([0, 1, 1, 0, 2])}, "labels are int64 of shape (5,)"),
        ({"labels": np.array([0, 1, 1, 0, 2, -2])}, "label -2"),
        ({"node_ids": np.arange(6)}, "ids of nodes are int64 of shape (6,), not one text for each of 6 nodes"),
        ({"node_ids": np.array(["a"] * 5)}, "ids of nodes are <U1 of shape (5,)"),
        ({"class_names": ("a", "b")}, "label 2 has no name"),
        ({"features": np.zeros((6, 2))}, "features are float64"),
        ({"features": np.zeros((0, 2), np.float32)}, "shape (0, 2)"),
        ({"labels": np.zeros((5, 3), np.float32)}, "labels are float32 of shape (5, 3)"),
        ({"labels": np.zeros((6, 3), np.int64)}, "labels are int64 of shape (6, 3)"),
        ({"labels": np.zeros((6, 1), np.int64)}, "neither integers of shape (6,), the class of every node, nor floats"),
        ({"labels": np.full((6, 3), 2, np.float32)}, "neither 0 nor 1"),
        ({"labels": TASKS, "class_names": ("a", "b")}, "3 tasks have 2 names"),
        ({"labels": TASKS, "splits": _split(test=(5,))}, "without a label in its test mask"),
        ({"features": np.full((6, 2), np.nan, np.float32)}, "infinite or not a number"),
        ({"features": sparse.csr_array(np.full((6, 2), np.inf, np.float32))}, "infinite or not a number"),
        ({"features": sparse.csr_matrix(np.ones((6, 2), np.float32))}, "csr_matrix"),
        ({"splits": _split(val=(0,))}, "two of its masks"),
        ({"splits": _split(train=())}, "no training node"),
        ({"splits": _split(test=(5,))}, "without a label in its test mask"),
        ({"splits": _split(nodes=7)}, "shape (7,)"),
        ({"splits": {"public": Split(*np.eye(3, 6, dtype=np.int64))}}, "mask of split 'public' is int64"),
    ],
)
def test_what_does_not_fit_is_refused(make_source, changes, reason):
    with pytest.raises(DataError) as caught:
        make_source(**changes)
    assert reason in caught.value.message
    assert "'small-origin'" in caught.value.message


def test_counts(make_source):
    source = make_source()
    assert (source.num_nodes, source.num_features, source.num_classes) == (6, 2, 3)
    assert make_source(class_names=("a", "b", "c", "d")).num_classes == 4


def test_several_labels_a_node(make_source):
    source = make_source(labels=TASKS)
    assert source.several_labels and source.num_classes == 3
    assert source.labelled.tolist() == [True] * 5 + [False]
    assert make_source().labelled.tolist() == [True] * 5 + [False] and not make_source().several_labels


def test_a_source_may_come_without_features(make_source):
    source = make_source(features=np.empty((6, 0), np.float32))
    assert (source.num_nodes, source.num_features) == (6, 0)


def test_a_graph_may_have_no_edges_and_no_splits(make_source):
    assert make_source(edges=np.zeros((2, 0), np.int64), splits={}).edges.shape == (2, 0)


@pytest.mark.parametrize("index", [[-1], [6]])
def test_split_of_indices_does_not_wrap_around(index):
    with pytest.raises(ValueError, match="val split names a node outside"):
        Split.of_indices(6, np.array([0]), np.array(index), np.array([2]))


def test_all_labels_may_be_unknown(make_source):
    source = make_source(labels=np.full(6, -1), splits={})
    assert source.num_classes == 0 and not source.labelled.any() and "no labels" in repr(source)
    several = make_source(labels=np.full((6, 3), np.nan, np.float32), splits={})
    assert several.num_classes == 3 and not several.labelled.any()


def test_it_shows_itself_in_a_line(make_source):
    assert repr(make_source()) == "<small: 6 nodes, 6 listed edges, 2 features, 3 classes, splits public>"
