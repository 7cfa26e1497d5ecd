"""Planetoid's eight files: a small set written by hand, with a gap in its test ids, and the real ones."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

from lipgnn.datasets.formats.planetoid import find_prefixes, read_planetoid
from lipgnn.errors import DataError

ALLX = np.random.RandomState(0).randint(0, 2, (504, 3)).astype(np.float32)
TX = np.array([[0, 0, 1], [1, 1, 0]], dtype=np.float32)


@pytest.fixture
def folder(tmp_path):
    """506 nodes known or tested, and id 505 in no file: train 0..1, val 2..501, test 506 and 504 in this order."""
    one_hot = np.eye(2, dtype=np.int32)[np.arange(504) % 2]
    parts = {
        "x": sparse.csr_matrix(ALLX[:2]),
        "y": one_hot[:2],
        "allx": sparse.csr_matrix(ALLX),
        "ally": one_hot,
        "tx": sparse.csr_matrix(TX),
        "ty": np.eye(2, dtype=np.int32),
        "graph": {0: [1, 1, 0], 1: [0], 506: [2], 505: []},
    }
    for name, part in parts.items():
        (tmp_path / f"ind.tiny.{name}").write_bytes(pickle.dumps(part, protocol=4))
    (tmp_path / "ind.tiny.test.index").write_text("506\n504\n")
    return tmp_path


def test_rows_go_where_the_test_index_says(folder):
    source = read_planetoid(folder)
    assert source.name == "tiny" and source.num_nodes == 507 and not source.directed
    dense = source.features.toarray()
    np.testing.assert_array_equal(dense[:504], ALLX)
    np.testing.assert_array_equal(dense[[506, 504]], TX)
    assert not dense[505].any() and source.labels[505] == -1
    assert source.labels[[506, 504]].tolist() == [0, 1]
    assert source.edges.T.tolist() == [[0, 1], [0, 1], [0, 0], [1, 0], [506, 2]]


def test_split(folder):
    split = read_planetoid(folder / "ind.tiny").splits["public"]
    assert np.flatnonzero(split.train).tolist() == [0, 1]
    assert np.flatnonzero(split.val).tolist() == list(range(2, 502))
    assert np.flatnonzero(split.test).tolist() == [504, 506]


def test_a_folder_of_several_sets_lists_them(folder):
    (folder / "ind.other.graph").write_bytes(b"")
    assert find_prefixes(folder) == ["ind.other", "ind.tiny"]
    with pytest.raises(DataError) as caught:
        read_planetoid(folder)
    assert "ind.other, ind.tiny" in caught.value.hint
    assert read_planetoid(folder / "ind.tiny").name == "tiny"


@pytest.mark.parametrize("part", ["x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"])
def test_missing_and_truncated_files_are_named(folder, part):
    path = folder / f"ind.tiny.{part}"
    path.write_bytes(path.read_bytes()[:-4] + b"?")
    with pytest.raises(DataError, match=rf"ind\.tiny\.{part}"):
        read_planetoid(folder / "ind.tiny")
    path.unlink()
    with pytest.raises(DataError, match=rf"ind\.tiny\.{part}"):
        read_planetoid(folder / "ind.tiny")


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("graph", {0: [9999]}),
        ("graph", {0: ["x"]}),
        ("graph", np.eye(2)),
        ("ally", np.eye(2)),
        ("ally", np.full((504, 2), 0.5)),
        ("ty", np.ones((2, 2))),
        ("tx", sparse.csr_matrix(np.ones((3, 3)))),
        ("allx", np.eye(2)),
        ("y", sparse.csr_matrix(np.eye(2))),
    ],
)
def test_files_that_do_not_fit_together(folder, part, value):
    (folder / f"ind.tiny.{part}").write_bytes(pickle.dumps(value, protocol=4))
    with pytest.raises(DataError, match=r"ind\.tiny"):
        read_planetoid(folder)


@pytest.mark.parametrize("text", ["506\n506\n", "3\n504\n", "", "506\n99999999999\n", "504\n" + "9" * 30, "a\nb"])
def test_wrong_test_ids(folder, text):
    (folder / "ind.tiny.test.index").write_text(text)
    with pytest.raises(DataError, match=r"ind\.tiny"):
        read_planetoid(folder)
