"""The npz layout: exact round trips, every accepted form, and refusal of everything else."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from lipgnn.datasets import write_npz
from lipgnn.datasets.formats.npz import read_npz
from lipgnn.errors import DataError

LABELS = np.array([0, 1, 1])
VALID = {
    "edges": np.array([[0, 1], [1, 2]]),
    "features": np.eye(3),
    "labels": LABELS,
    "train_mask": LABELS == 0,
    "val_mask": np.array([0, 1, 0], np.uint8),
    "test_mask": np.array([False, False, True]),
}
CSR = {
    "features_data": np.ones(2),
    "features_indices": np.array([0, 1]),
    "features_indptr": np.array([0, 1, 1, 2]),
    "features_shape": np.array([3, 2]),
}


@pytest.fixture
def save(tmp_path):
    """Write a valid file with members replaced, added or (None) left out."""

    def write(**changes):
        path = tmp_path / "three.npz"
        np.savez(path, **{name: array for name, array in (VALID | changes).items() if array is not None})
        return path

    return write


def test_round_trip_dense(tmp_path, make_source, same):
    source = make_source()
    source.features[3, 0] = -0.0
    write_npz(source, tmp_path / "small.npz")
    read = read_npz(tmp_path / "small.npz")
    same(source, read)
    assert np.signbit(read.features[3, 0])
    assert read.name == "small" and read.origin == str(tmp_path / "small.npz")


def test_round_trip_sparse(tmp_path, sparse_source, same):
    write_npz(sparse_source, tmp_path / "small.npz")
    same(sparse_source, read_npz(tmp_path / "small.npz"))


def test_round_trip_of_fractions_and_without_splits(tmp_path, make_source, same):
    source = make_source(features=np.random.RandomState(0).standard_normal((6, 3)).astype(np.float32), splits={})
    write_npz(source, tmp_path / "small.npz")
    same(source, read_npz(tmp_path / "small.npz"))


def test_equal_sources_make_equal_bytes_and_no_objects(tmp_path, sparse_source):
    write_npz(sparse_source, tmp_path / "one.npz")
    write_npz(sparse_source, tmp_path / "two.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    with np.load(tmp_path / "one.npz", allow_pickle=False) as file:
        assert file["features_data"].dtype == np.float32 and file["edges"].dtype == np.uint8


def test_edges_may_lie_either_way(save):
    edges = np.array([[0, 1], [1, 2], [2, 0]])
    np.testing.assert_array_equal(read_npz(save(edges=edges)).edges, edges.T)
    np.testing.assert_array_equal(read_npz(save(edges=edges.T)).edges, edges.T)
    square = np.array([[0, 1], [2, 2]])
    np.testing.assert_array_equal(read_npz(save(edges=square)).edges, square)


def test_indices_in_place_of_masks(save):
    path = save(
        train_mask=None, val_mask=None, test_mask=None, train_index=[1], val_index=[2], test_index=np.array([0])
    )
    split = read_npz(path).splits["public"]
    assert [np.flatnonzero(mask).tolist() for mask in split.parts.values()] == [[1], [2], [0]]


def test_several_splits_and_their_names(save):
    masks = {
        f"{part}_mask": np.roll(np.eye(3, dtype=bool), shift, 1) for shift, part in enumerate(("train", "val", "test"))
    }
    assert list(read_npz(save(**masks)).splits) == ["0", "1", "2"]
    assert list(read_npz(save(**masks, split_names=np.array(["x", "y", "z"]))).splits) == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"edges": np.array([[0], [9]])}, "node 9"),
        ({"edges": np.array([[0.5], [1]])}, "not integers"),
        ({"edges": np.zeros((3, 3), int)}, "shape (3, 3)"),
        ({"edges": None}, "'edges' is missing"),
        ({"labels": np.array([0, 1])}, "labels are"),
        ({"labels": np.array(["a", "b", "c"])}, "not integers"),
        ({"labels": np.array([0, 1, -5])}, "label -5"),
        ({"class_names": np.array(["only"])}, "no name"),
        ({"class_names": np.array(["twice", "twice"])}, "different strings"),
        ({"features": np.array([["x"] * 3] * 3)}, "not numbers"),
        ({"features": np.ones(3)}, "shape (3,)"),
        ({"features": np.full((3, 1), 1e300)}, "infinite"),
        ({**CSR}, "given twice"),
        ({"features": None, **CSR, "features_indices": np.array([0, 5])}, "CSR matrix do not fit"),
        ({"features": None, **CSR, "features_shape": np.array([3])}, "two integers"),
        ({"features": None, **CSR, "features_data": None}, "'features_data' is missing"),
        ({"val_mask": None}, "only"),
        ({"val_mask": np.array([0, 2, 0])}, "not a mask"),
        ({"val_mask": np.zeros((2, 3), bool)}, "different shapes"),
        ({"test_mask": VALID["train_mask"]}, "two of its masks"),
        ({"split_names": np.array(["a", "b"])}, "1 splits have 2 names"),
        ({"directed": np.array([True, False])}, "not one boolean"),
        ({"weights": np.ones(3)}, "unknown members ['weights']"),
    ],
)
def test_wrong_members_are_refused_with_the_file_and_the_reason(save, changes, reason):
    path = save(**changes)
    with pytest.raises(DataError) as caught:
        read_npz(path)
    assert reason in caught.value.message and repr(str(path)) in caught.value.message


class _Bomb:
    """Creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_object_arrays_are_refused_and_not_run(save, tmp_path):
    path = save(class_names=np.array([_Bomb(tmp_path / "proof")], dtype=object))
    with pytest.raises(DataError, match="'class_names': holds Python objects"):
        read_npz(path)
    assert not (tmp_path / "proof").exists()


@pytest.mark.parametrize("keep", [0, 1, 100, -1, -30])
def test_truncated_files(save, keep):
    path = save()
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(DataError, match=r"three\.npz"):
        read_npz(path)


def test_flipped_bytes_never_escape_as_another_error(tmp_path, sparse_source, same):
    path = tmp_path / "small.npz"
    write_npz(sparse_source, path)
    whole = path.read_bytes()
    for position in range(0, len(whole), 7):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :])
        try:
            same(sparse_source, read_npz(path))  # a byte nobody reads, such as a time
        except DataError as error:
            assert "small.npz" in error.message


@pytest.mark.parametrize("name", ["missing.npz", ""])
def test_files_that_cannot_be_opened(tmp_path, name):
    with pytest.raises(DataError):
        read_npz(tmp_path / name)


def test_archives_of_something_else(tmp_path):
    path = tmp_path / "other.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../evil.txt", "x")
    with pytest.raises(DataError, match="is not an array"):
        read_npz(path)


@pytest.mark.parametrize("compress", [True, False])
def test_round_trip_of_several_labels_and_of_no_features(tmp_path, make_source, same, compress):
    labels = np.array([[0, 1, np.nan]] * 5 + [[np.nan] * 3], dtype=np.float32)
    source = make_source(labels=labels, features=np.empty((6, 0), np.float32))
    write_npz(source, tmp_path / "tasks.npz", compress=compress)
    same(read_npz(tmp_path / "tasks.npz"), source)
    assert read_npz(tmp_path / "tasks.npz").labels.dtype == np.float32


def test_parts_of_a_sparse_matrix_that_are_single_numbers_are_refused(save):
    parts = {"features_data": 1.0, "features_indices": [0], "features_indptr": [0, 1], "features_shape": [1, 1]}
    with pytest.raises(DataError, match="not lists of numbers"):
        read_npz(save(features=None, **parts))


def test_types_of_edges_make_the_round_trip(tmp_path, make_source, same):
    source = make_source(edge_types=np.array([1, 0, 0, 300, 2, 0]))
    write_npz(source, tmp_path / "typed.npz")
    read = read_npz(tmp_path / "typed.npz")
    same(source, read)
    assert read.edge_types.tolist() == [1, 0, 0, 300, 2, 0] and read.edge_types.dtype == np.int64
    write_npz(make_source(), tmp_path / "plain.npz")
    assert read_npz(tmp_path / "plain.npz").edge_types is None


@pytest.mark.parametrize(
    ("types", "reason"),
    [
        (np.array([0.5, 1.0]), "member 'edge_types' holds float64, not integers"),
        (np.array([0, 1, 1]), "types of edges are int64 of shape (3,)"),
        (np.array([0, -1]), "an edge is of type -1"),
        (np.array(["road", "rail"]), "member 'edge_types' holds"),
    ],
)
def test_what_is_no_type_of_an_edge_is_refused(save, types, reason):
    with pytest.raises(DataError) as caught:
        read_npz(save(edge_types=types))
    assert reason in caught.value.message and "three.npz" in caught.value.message


def test_ids_of_nodes_come_back_and_labels_may_be_left_out(tmp_path, make_source, save):
    source = make_source(node_ids=np.array(["b", "a", "=1", "ü", "", "007"]), labels=np.full(6, -1), splits={})
    write_npz(source, tmp_path / "small.npz")
    read = read_npz(tmp_path / "small.npz")
    np.testing.assert_array_equal(read.node_ids, source.node_ids)
    assert not read.labelled.any()
    masks = dict.fromkeys(("train_mask", "val_mask", "test_mask"))
    assert read_npz(save(labels=None, **masks)).labels.tolist() == [-1, -1, -1]
    with pytest.raises(DataError, match="different strings"):
        read_npz(save(node_ids=np.array(["a", "a", "b"])))
