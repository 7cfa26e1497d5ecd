"""Splits that cannot be learned from, planted in data of which all is known; and real ones that are well."""

import dataclasses

import numpy as np
import pytest
from scipy import sparse

from lipgnn.datasets import Source, Split, load, prepare
from lipgnn.diagnose.split import MOST_LEAKED, SplitNumbers, judge_split, look_at_split
from lipgnn.spec.run import RunSpec

SPEC = RunSpec(dataset="planted")
NODES = 40


def source(**changes):
    """A random graph of 40 nodes in four classes, all with different features."""
    draw = np.random.default_rng(3)
    own = {
        "name": "made",
        "edges": draw.integers(0, NODES, (2, 120)),
        "directed": False,
        "features": draw.normal(size=(NODES, 3)).astype(np.float32),
        "labels": np.arange(NODES) % 4,
    }
    return Source(**{**own, **changes})


def prepared(given, train, test):
    masks = {part: np.isin(np.arange(given.num_nodes), nodes) for part, nodes in (("train", train), ("test", test))}
    return prepare(given, Split(masks["train"], ~masks["train"] & ~masks["test"], masks["test"]))


def with_copies(given, pairs, *, joined=False):
    """The same data in which the second of every pair is a copy of the first, with its label."""
    edges, features, labels = given.edges, given.features.copy(), given.labels.copy()
    copies = [copy for _, copy in pairs]
    edges = edges[:, ~np.isin(edges, copies).any(axis=0)]
    for node, copy in pairs:
        around = np.unique(np.concatenate([edges[0][edges[1] == node], edges[1][edges[0] == node]]))
        new = np.stack([np.full(len(around), copy), np.where(around == node, copy, around)])
        edges = np.concatenate([edges, new, np.array([[node], [copy]])] if joined else [edges, new], axis=1)
        features[copy], labels[copy] = features[node], labels[node]
    return dataclasses.replace(given, edges=edges, features=features, labels=labels)


def findings(dataset):
    return [finding.name for finding in judge_split(look_at_split(dataset), SPEC)]


TRAIN, TEST = range(0, 16), range(24, 40)


def test_with_a_split_of_different_nodes_nothing_is_wrong():
    found = look_at_split(prepared(source(), TRAIN, TEST))
    assert found == SplitNumbers(("0", "1", "2", "3"), (), 0.0, 0.0, 0.0)
    assert judge_split(found, SPEC) == []


def test_a_class_without_a_training_node_is_counted_with_its_test_nodes():
    given = source(class_names=("a", "b", "c", "d"))
    dataset = prepared(given, [node for node in TRAIN if node % 4 != 2], TEST)
    found = look_at_split(dataset)
    assert (found.untrained, found.hopeless) == (("c",), 0.25)
    (finding,) = judge_split(found, SPEC)
    assert finding.name == "missing-class" and "1 of 4 have none (c), and 25.0% of the test" in finding.evidence
    assert [option.words for option in finding.options] == ["--split random:0"]
    assert judge_split(found, SPEC.with_values(split="random:0"))[0].options == ()


def test_one_class_alone_is_named_before_the_others():
    (finding,) = judge_split(look_at_split(prepared(source(), [0, 4, 8], TEST)), SPEC)
    assert finding.name == "one-class" and "class '0'" in finding.evidence and "has 4" in finding.evidence


def test_labels_of_which_training_nodes_have_one_answer_are_missing():
    labels = np.zeros((NODES, 3), dtype=np.float32)
    labels[::2, 0] = labels[30:, 1] = 1
    labels[::3, 2] = 1
    labels[5, 2] = np.nan
    found = look_at_split(prepared(source(labels=labels), TRAIN, TEST))
    assert (found.untrained, found.hopeless, found.several) == (("1",), pytest.approx(1 / 3), True)
    (finding,) = judge_split(found, SPEC)
    assert finding.name == "missing-class" and "one answer alone to 1 of 3 labels (1)" in finding.evidence


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_copies_of_training_nodes_are_a_leak(joined, form):
    """Whether a copy is beside its original or not; a copy of a test node, or within the training part, is none."""
    pairs = [(1, 30), (2, 31), (24, 25), (3, 4)]
    given = with_copies(source(), pairs, joined=joined)
    given = dataclasses.replace(given, features=form(given.features))
    found = look_at_split(prepared(given, TRAIN, TEST))
    assert (found.repeated, found.leaked) == (2 / 16, 2 / 16)
    (finding,) = judge_split(found, SPEC)
    assert finding.name == "leak" and "12.5% of the test nodes" in finding.evidence


def test_who_differs_in_a_feature_a_neighbour_or_its_label_is_no_leak():
    given = with_copies(source(), [(1, 30), (2, 31), (3, 32)])
    features, labels = given.features.copy(), given.labels.copy()
    features[30, 0] += 1e-3
    labels[32] = (labels[32] + 1) % 4
    edges = np.concatenate([given.edges, [[31], [20]]], axis=1)
    found = look_at_split(
        prepared(dataclasses.replace(given, features=features, labels=labels, edges=edges), TRAIN, TEST)
    )
    assert (found.repeated, found.leaked) == (1 / 16, 0.0)


def test_nodes_that_have_nothing_say_nothing():
    """Without features and neighbours all are alike, and no label can be read from that."""
    empty = source(features=np.zeros((NODES, 2), np.float32), edges=np.zeros((2, 0), np.int64))
    assert look_at_split(prepared(empty, TRAIN, TEST)).repeated == 0


def test_a_node_is_no_copy_of_itself():
    given = source()
    everybody = np.ones(NODES, bool)
    assert look_at_split(prepare(given, Split(everybody, everybody, everybody))).repeated == 0


def test_the_direction_and_the_type_of_edges_count():
    features = np.array([[1.0], [1.0], [2.0], [3.0]], np.float32)
    edges, labels = np.array([[2, 2], [0, 1]]), np.array([0, 0, 1, 1])
    made = Source("made", edges=edges, directed=True, features=features, labels=labels)
    assert look_at_split(prepared(made, [0, 2], [1, 3])).leaked == 0.5
    # Out-edges are not looked at by a layer.
    further = dataclasses.replace(made, edges=np.array([[2, 2, 1], [0, 1, 3]]))
    assert look_at_split(prepared(further, [0, 2], [1, 3])).leaked == 0.5
    typed = dataclasses.replace(made, edge_types=np.array([0, 1]))
    assert look_at_split(prepared(typed, [0, 2], [1, 3])).leaked == 0


@pytest.mark.parametrize("name", ["cora", "citeseer", "planted"])
def test_the_shipped_splits_can_be_learned_from(name):
    dataset = load(name)
    assert findings(dataset) == []
    assert look_at_split(dataset).leaked < MOST_LEAKED / 10
