"""The npz files of gnn-benchmark: CSR parts against scipy, and pickles that are never loaded."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from lipgnn.datasets import load, read
from lipgnn.datasets.formats import FORMATS, recognize
from lipgnn.datasets.formats.shchur import read_shchur
from lipgnn.errors import DataError

NODES = 150
DRAW = np.random.RandomState(0)
ADJACENCY = sparse.random(NODES, NODES, 0.03, "csr", random_state=1)
ATTRIBUTES = sparse.random(NODES, 7, 0.3, "csr", random_state=2, dtype=np.float32)
LABELS = np.arange(NODES) % 2


class Trap:
    """What must not be unpickled."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def parts(prefix, matrix):
    return {f"{prefix}_{name}": np.asarray(getattr(matrix, name)) for name in ("data", "indices", "indptr", "shape")}


VALID = {**parts("adj", ADJACENCY), **parts("attr", ATTRIBUTES), "labels": LABELS}
NAMES = {name: np.array([Trap()], dtype=object) for name in ("idx_to_node", "idx_to_class", "node_names", "metadata")}


@pytest.fixture
def save(tmp_path):
    """Write a valid file with members replaced, added or (None) left out."""

    def write(**changes):
        arrays = {key: array for key, array in (VALID | NAMES | changes).items() if array is not None}
        np.savez(tmp_path / "some.npz", **arrays)
        return tmp_path / "some.npz"

    return write


def test_matrices_are_those_of_scipy_and_names_are_never_loaded(save):
    source = read_shchur(save())
    dense = np.zeros((NODES, NODES), dtype=bool)
    dense[tuple(source.edges)] = True
    np.testing.assert_array_equal(dense, ADJACENCY.toarray() != 0)
    np.testing.assert_array_equal(source.features.toarray(), ATTRIBUTES.toarray())
    np.testing.assert_array_equal(source.labels, LABELS)
    assert (source.directed, source.splits, source.class_names) == (False, {}, None)


def test_its_graph_has_both_directions_and_its_split_is_drawn(save):
    data = load(str(save()), split="random:0")
    both = (ADJACENCY + ADJACENCY.T + sparse.eye(NODES)).toarray() != 0
    assert data.edges.shape[1] == both.sum()
    assert [int(mask.sum()) for mask in data.split.parts.values()] == [40, 60, 50]


def test_features_may_be_dense(save):
    without = dict.fromkeys(f"attr_{name}" for name in ("data", "indices", "indptr", "shape"))
    path = save(**without, attr_matrix=ATTRIBUTES.toarray())
    np.testing.assert_array_equal(read_shchur(path).features, ATTRIBUTES.toarray())


def test_it_is_known_by_its_members(save):
    assert recognize(save(labels=None)) is FORMATS["shchur"]


BAD = {
    "objects elsewhere": ({"labels": np.array([Trap()] * NODES, dtype=object)}, "'labels': holds Python objects"),
    "other objects": ({"extra": np.array([Trap()], dtype=object)}, "'extra': holds Python objects"),
    "unknown": ({"extra": np.ones(2)}, r"unknown members \['extra'\]"),
    "no labels": ({"labels": None}, "member 'labels' is missing"),
    "other nodes": ({"adj_shape": np.array([NODES, NODES + 1])}, r"shape \(150, 151\), and there are features of 150"),
    "short rows": ({"adj_indptr": VALID["adj_indptr"][:-1]}, "not lists that fit each other"),
    "backwards": ({"adj_indptr": VALID["adj_indptr"][::-1]}, "do not follow each other"),
    "far": ({"adj_indices": VALID["adj_indices"] + NODES}, "an edge names node"),
    "no weights": ({"adj_data": np.ones(1)}, "not lists that fit each other"),
    "attributes": ({"attr_indices": VALID["attr_indices"] + 7}, "the parts of a CSR matrix do not fit"),
    "twice": ({"attr_matrix": np.ones((NODES, 2))}, "given twice"),
    "shape": ({"attr_shape": np.array([NODES])}, "'attr_shape' is not two integers"),
    "infinite": ({"attr_data": VALID["attr_data"] * np.inf}, "infinite or not a number"),
    "wrapped": (
        {"adj_indptr": np.linspace(0, 2**62, NODES + 1).astype(np.int64)},
        "do not follow each other",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_said_in_a_sentence(save, what):
    changes, words = BAD[what]
    path = save(**changes)
    with pytest.raises(DataError, match=words) as caught:
        read(str(path))
    assert caught.value.exit_code == 4 and repr(str(path)) in caught.value.message
