"""NeighborsMatch against its definition."""

import collections
import itertools

import numpy as np
import pytest

from lipgnn.datasets import read
from lipgnn.datasets.generated.trees import load_trees, one_tree
from lipgnn.errors import UsageError


def test_radius_two_is_the_definition_in_full():
    """Seven nodes in pre-order: 0 the root, 1 and 4 its children, 2 3 and 5 6 the leaves from left to right."""
    data = load_trees("trees:2")
    assert set(zip(*data.edges.tolist(), strict=True)) == {
        (1, 0), (4, 0), (2, 1), (3, 1), (5, 4), (6, 4), *((node, node) for node in range(7))
    }  # fmt: skip
    expected = collections.Counter()
    for values in itertools.permutations((1, 2, 3, 4)):
        for key in (1, 2, 3, 4):
            keys = (key, 0, 1, 2, 0, 3, 4)
            expected[keys, (0, 0, *values[:2], 0, *values[2:]), values[key - 1]] += 1
    found = collections.Counter(
        (tuple(keys), tuple(values), label)
        for keys, values, label in zip(
            data.keys.tolist(), data.values.tolist(), data.labels_array.tolist(), strict=True
        )
    )
    assert found == expected
    assert sum(found.values()) == 96


@pytest.mark.parametrize("radius", [2, 3, 5, 8])
def test_a_tree_is_full_and_binary_and_numbered_depth_first(radius):
    edges, depths = one_tree(radius)
    nodes = 2 ** (radius + 1) - 1
    assert edges.shape == (2, 2 * nodes - 1)
    parents = {child: parent for child, parent in edges.T.tolist() if child != parent}
    children = collections.defaultdict(list)
    for child, parent in parents.items():
        children[parent].append(child)
    visited, waiting = [], [(0, 0)]
    while waiting:
        node, depth = waiting.pop()
        assert depths[node] == depth
        assert len(children[node]) == (0 if depth == radius else 2)
        visited.append(node)
        waiting += [(child, depth + 1) for child in sorted(children[node], reverse=True)]
    assert visited == list(range(nodes))


@pytest.mark.parametrize("name", ["trees:3", "trees:4:10", "trees:6:6"])
def test_every_graph_asks_for_a_key_among_its_leaves(name):
    data = load_trees(name)
    leaves = data.depths == data.trees.radius
    size = leaves.sum()
    assert (data.keys[:, leaves] == np.arange(1, size + 1)).all()
    assert (np.sort(data.values[:, leaves], axis=1) == np.arange(1, size + 1)).all()
    asked = np.flatnonzero(leaves)[data.keys[:, 0] - 1]
    assert (data.values[np.arange(data.trees.graphs), asked] == data.labels_array).all()
    inner = ~leaves
    inner[0] = False
    assert not data.keys[:, inner].any()
    assert not data.values[:, ~leaves].any()
    # Every permutation is asked for every key.
    questions = {
        (tuple(values), key) for values, key in zip(data.values.tolist(), data.keys[:, 0].tolist(), strict=True)
    }
    assert len(questions) == data.trees.graphs


@pytest.mark.parametrize(
    "radius, train", [(2, 76), (3, 6400), (4, 12800), (5, 25600), (6, 25600), (7, 25600), (8, 25600)]
)
def test_the_split_is_four_to_one_and_stratified(radius, train):
    data = load_trees(f"trees:{radius}")
    assert data.split.train.sum() == train
    assert (data.split.train ^ data.split.test).all()
    counts = np.bincount(data.labels_array[data.split.train])[1:]
    assert len(set(counts.tolist())) == 1


def test_a_name_is_one_data_set():
    first, again, fewer = load_trees("trees:3"), load_trees("trees:3"), load_trees("trees:3:999")
    assert first.fingerprint == again.fingerprint != fewer.fingerprint
    assert (first.permutations == again.permutations).all()


@pytest.mark.parametrize("options", [{"split": "random:0"}, {"missing": 0.5}, {"features": "row"}])
def test_options_that_trees_do_not_have_are_refused(options):
    with pytest.raises(UsageError, match=next(iter(options))):
        load_trees("trees:2", **options)


def test_trees_are_no_single_graph():
    with pytest.raises(UsageError, match="many graphs and no single one"):
        read("trees:2")


@pytest.mark.parametrize(
    "name, words",
    [("trees:1", "'trees:1' asks for trees of radius 1."), ("trees:x", "'trees:x' is no data set of trees.")],
)
def test_trees_that_there_are_not(name, words):
    with pytest.raises(UsageError) as caught:
        load_trees(name)
    assert caught.value.message == words and "with R from 2 to 8" in caught.value.hint
