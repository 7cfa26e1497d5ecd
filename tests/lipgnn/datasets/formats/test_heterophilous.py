"""The npz files of heterophilous-graphs: read as they are published, and what is wrong with the others."""

from __future__ import annotations

import numpy as np
import pytest

from lipgnn.catalog import DATASETS
from lipgnn.datasets import describe, load, read
from lipgnn.datasets.formats import FORMATS, recognize
from lipgnn.datasets.formats.heterophilous import read_heterophilous
from lipgnn.errors import DataError

NODES = 12
INDEX = np.arange(NODES)
EDGES = np.stack([INDEX[:-1], INDEX[1:]], axis=1)
MASKS = [np.stack([(INDEX + k) % 4 == part for k in range(10)]) for part in range(4)]
VALID = {
    "node_features": np.eye(NODES, 3, dtype=np.float32),
    "node_labels": INDEX % 2,
    "edges": EDGES,
    "train_masks": MASKS[0] | MASKS[1],
    "val_masks": MASKS[2],
    "test_masks": MASKS[3],
}


@pytest.fixture
def save(tmp_path):
    """Write a valid file with members replaced, added or (None) left out."""

    def write(name="path.npz", **changes):
        np.savez(tmp_path / name, **{key: array for key, array in (VALID | changes).items() if array is not None})
        return tmp_path / name

    return write


def test_everything_is_as_the_file_has_it(save):
    source = read_heterophilous(save())
    np.testing.assert_array_equal(source.edges, EDGES.T)
    np.testing.assert_array_equal(source.features, VALID["node_features"])
    np.testing.assert_array_equal(source.labels, INDEX % 2)
    assert (source.name, source.directed) == ("path", False)
    assert list(source.splits) == [str(k) for k in range(10)]
    for k in range(10):
        for part, mask in source.splits[str(k)].parts.items():
            np.testing.assert_array_equal(mask, VALID[f"{part}_masks"][k])


def test_an_edge_listed_once_counts_in_both_directions(save):
    data = load(str(save()), split="3")
    # A path of 12 nodes: 11 edges, both ways, and 12 self-loops.
    assert data.edges.shape == (2, 34)
    assert describe(data)["edges"] == 11


@pytest.mark.parametrize(
    "name, directed",
    [("a_directed.npz", True), ("directed.npz", True), ("a_undirected.npz", False), ("redirected-b.npz", False)],
)
def test_the_name_of_a_file_says_whether_edges_have_a_direction(save, name, directed):
    assert read_heterophilous(save(name)).directed is directed


def test_it_is_known_by_its_members_even_where_some_are_missing(save, tmp_path):
    assert recognize(save()) is FORMATS["heterophilous"]
    path = save(node_features=None, node_labels=None, val_masks=None)
    assert recognize(path) is FORMATS["heterophilous"]
    np.savez(tmp_path / "own.npz", edges=EDGES.T, labels=INDEX, features=np.eye(NODES))
    assert recognize(tmp_path / "own.npz") is FORMATS["npz"]


BAD = {
    "object features": ({"node_features": np.array([{}] * NODES)}, "'node_features': holds Python objects"),
    "overlap": ({"val_masks": VALID["train_masks"]}, "split '0' has a node in two of its masks"),
    "negative label": ({"node_labels": INDEX - 2}, "label -2 is negative"),
    "label beyond": (
        {"node_labels": np.where(INDEX == 5, 9, INDEX % 2)},
        "label 9 is out of range: no node has label 2",
    ),
    "float labels": ({"node_labels": np.ones(NODES)}, "holds float64, not integers"),
    "labels of others": ({"node_labels": np.arange(NODES + 1) % 2}, r"labels are int64 of shape \(13,\)"),
    "transposed": ({"edges": EDGES.T}, r"edges have shape \(2, 11\), which would be the transposed, not \(edges, 2\)"),
    "edges of three": ({"edges": np.zeros((4, 3), int)}, r"edges have shape \(4, 3\), not"),
    "edge beyond": ({"edges": EDGES + 1}, r"an edge names node 12, outside 0..11"),
    "masks of others": ({"test_masks": VALID["test_masks"][:, 1:]}, "masks have different shapes"),
    "masks transposed": (
        {f"{part}_masks": VALID[f"{part}_masks"].T for part in ("train", "val", "test")},
        "not one bool",
    ),
    "masks of numbers": ({"test_masks": VALID["test_masks"] * 2}, "'test_masks' is not a mask of booleans"),
    "no split": ({f"{part}_masks": np.zeros((0, NODES), bool) for part in ("train", "val", "test")}, "of no split"),
    "nothing to train": ({"train_masks": np.zeros((10, NODES), bool)}, "no training node"),
    "not a number": ({"node_features": np.full((NODES, 3), np.nan)}, "a feature is infinite or not a number"),
    "flat features": ({"node_features": np.ones(NODES)}, r"features are float32 of shape \(12,\)"),
    "missing": ({"node_labels": None}, "member 'node_labels' is missing"),
    "unknown": ({"other": np.ones(2)}, r"unknown members \['other'\]"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_said_in_a_sentence(save, what):
    changes, words = BAD[what]
    path = save(**changes)
    with pytest.raises(DataError, match=words) as caught:
        read(str(path))
    assert caught.value.exit_code == 4
    assert caught.value.message.startswith(f"Cannot use {str(path)!r}: ") and caught.value.message.count("\n") == 0


def test_a_label_that_is_not_known_is_minus_one(save):
    labels = INDEX % 2
    labels[11] = -1
    masks = {f"{part}_masks": VALID[f"{part}_masks"] & (labels >= 0) for part in ("train", "val", "test")}
    assert read_heterophilous(save(node_labels=labels, **masks)).num_classes == 2


def test_the_published_files_are_what_is_said_of_them(raw_data):
    found = {}
    for name in ("minesweeper", "chameleon-filtered"):
        facts = describe(read(name, data_dir=raw_data))
        found[name] = [facts["nodes"], facts["edges"], facts["features"], len(facts["classes"]), len(facts["splits"])]
        entry = DATASETS[name]
        if entry.edges:
            assert load(name, split="0", data_dir=raw_data).edges.shape[1] == entry.edges
    assert found == {"minesweeper": [10000, 39402, 7, 2, 10], "chameleon-filtered": [890, 8854, 2325, 5, 10]}
