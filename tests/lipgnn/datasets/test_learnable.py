"""Data from which nothing can be learned is told of, and no other."""

import numpy as np
import pytest

from lipgnn.catalog import DATASETS, ImagesEntry
from lipgnn.datasets import Split, load
from lipgnn.datasets.learnable import unlearnable

NONE = np.empty((2, 0), dtype=np.int64)


SHIPPED = [name for name, entry in DATASETS.items() if entry.origin == "ships" and not isinstance(entry, ImagesEntry)]


def split_of(train, val, test):
    return Split.of_indices(6, *(np.array(nodes, dtype=np.int64) for nodes in (train, val, test)))


@pytest.mark.parametrize("edges", [NONE, np.array([[3, 3], [3, 3]])])
def test_nodes_without_edges_are_alone(make_source, edges):
    assert unlearnable(make_source(edges=edges)) == (
        "'small' has no edge between two nodes, so every layer sees each node alone.",
    )


def test_a_single_class_is_none_to_tell_apart(make_source):
    source = make_source(labels=np.array([1, 1, 1, 1, 1, -1]))
    said = ("All labels of 'small' are of one class, so there is nothing to tell apart.",)
    assert unlearnable(source) == unlearnable(source, source.splits["public"]) == said


def test_a_class_that_is_scored_and_not_trained_on_is_named(make_source):
    """Classes 0 and 1 are trained on, class 2 is tested on."""
    source = make_source(class_names=("a", "b", "c"))
    said = ("No training node of 'small' is of class 'c', and validation or test nodes are.",)
    assert unlearnable(source, source.splits["public"]) == said
    assert "is of class 1 or 2, and" in unlearnable(make_source(), split_of([0], [1, 2], [4]))[0]


def test_many_classes_are_counted(make_source):
    source = make_source(labels=np.arange(6) + 1, splits={})
    assert "is of class 2 or 3 or 4 or 5 or 6, and" in unlearnable(source, split_of([0], [1, 2], [3, 4, 5]))[0]
    assert "is of one of 6 classes, and" in unlearnable(source, split_of([], [0, 1, 2], [3, 4, 5]))[0]


def test_one_that_is_not_scored_either_is_no_matter(make_source):
    assert unlearnable(make_source(), split_of([0, 1], [2], [3])) == ()


def test_unknown_labels_and_several_labels_have_no_classes(make_source):
    assert unlearnable(make_source(labels=np.full(6, -1), splits={})) == ()
    tasks = make_source(labels=np.zeros((6, 2), dtype=np.float32))
    assert unlearnable(tasks, tasks.splits["public"]) == ()


@pytest.mark.parametrize("name", SHIPPED)
def test_data_that_ships_is_all_to_be_learned(name):
    data = load(name)
    assert data.remarks == ()
    assert not any(unlearnable(data.source, split) for split in data.source.splits.values())


@pytest.mark.parametrize("name, split", [("planted", "public"), ("minesweeper:20", "0"), ("complete", "public")])
def test_data_that_is_generated_is_all_to_be_learned(name, split):
    assert load(name, split=split).remarks == ()
