"""OGB's raw csv.gz folders: small ones written here, and ogbn-arxiv where it is at hand."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from lipgnn.datasets import load, read
from lipgnn.datasets.formats import ogb
from lipgnn.datasets.formats.ogb import read_ogb
from lipgnn.errors import DataError

FILES = {
    "raw/num-node-list.csv.gz": "3\n",
    "raw/num-edge-list.csv.gz": "2\n",
    "raw/edge.csv.gz": "0,1\n2,1\n",
    "raw/node-feat.csv.gz": "0.5,-1\n1e-3,2\n0,0\n",
    "raw/node-label.csv.gz": "1\n0\n1\n",
    "split/time/train.csv.gz": "2\n",
    "split/time/valid.csv.gz": "0\n",
    "split/time/test.csv.gz": "1\n",
}


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "tiny"
    for name, text in FILES.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        _write(path, name, text)
    return path


def _write(folder, name: str, text: str) -> None:
    (folder / name).write_bytes(gzip.compress(text.encode()))


def test_everything_is_where_it_belongs(folder):
    source = read_ogb(folder)
    assert source.name == "tiny" and source.directed
    assert source.edges.tolist() == [[0, 2], [1, 1]]
    np.testing.assert_array_equal(source.features, np.array([[0.5, -1], [1e-3, 2], [0, 0]], dtype=np.float32))
    assert source.labels.tolist() == [1, 0, 1]
    split = source.splits["public"]
    assert [np.flatnonzero(mask).tolist() for mask in split.parts.values()] == [[2], [0], [1]]


def test_an_empty_label_is_unknown(folder):
    _write(folder, "raw/num-node-list.csv.gz", "4\n")
    _write(folder, "raw/node-feat.csv.gz", "1\n2\n3\n4\n")
    _write(folder, "raw/node-label.csv.gz", "1\n\n1\n0\n")
    with pytest.raises(DataError, match="without a label in its test mask"):
        read_ogb(folder)
    _write(folder, "split/time/test.csv.gz", "3\n")
    assert read_ogb(folder).labels.tolist() == [1, -1, 1, 0]


@pytest.mark.parametrize("name", FILES)
def test_missing_truncated_and_wordy_files_are_named(folder, name):
    path = folder / name
    whole = path.read_bytes()
    for content in (whole[:-6], b"no gzip", gzip.compress(b"word,word\n"), gzip.compress(b"")):
        path.write_bytes(content)
        with pytest.raises(DataError) as caught:
            read_ogb(folder)
        assert path.name in caught.value.message
    path.unlink()
    if name == "raw/node-feat.csv.gz":
        assert read_ogb(folder).features.shape == (3, 0)
    else:
        with pytest.raises(DataError) as caught:
            read_ogb(folder)
        assert path.name in caught.value.message


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("raw/num-node-list.csv.gz", "4\n", "node-label.csv.gz': it has 3 lines for 4 nodes"),
        ("raw/num-node-list.csv.gz", "2\n1\n", "num-node-list.csv.gz': it counts the nodes of 2 graphs"),
        ("raw/num-edge-list.csv.gz", "3\n", "edge.csv.gz': it has 2 lines for 3 edges"),
        ("raw/num-edge-list.csv.gz", "1\n1\n", "num-edge-list.csv.gz': it counts the edges of 2 graphs"),
        ("raw/node-label.csv.gz", "1\n0\n", "node-label.csv.gz': it has 2 lines for 3 nodes"),
        ("raw/node-label.csv.gz", "1,0\n0,2\n1,0\n", "node-label.csv.gz': a label of several is neither 0 nor 1"),
        ("raw/node-label.csv.gz", "0.5\n0\n1\n", "node-label.csv.gz': a label is not an integer"),
        ("raw/node-label.csv.gz", "-1\n0\n1\n", "node-label.csv.gz': label -1 is outside"),
        ("raw/node-label.csv.gz", "1e18\n0\n1\n", "node-label.csv.gz': label 1000000000000000000 is outside"),
        ("raw/node-feat.csv.gz", "1\n\n1\n", "infinite or not a number"),
        ("raw/edge.csv.gz", "0,1,2\n", "edge.csv.gz': a line has 3 fields"),
        ("raw/edge.csv.gz", "0,3\n0,1\n", "edge.csv.gz': an edge names node 3, outside 0..2"),
        ("raw/edge.csv.gz", "0,1\n0,-1\n", "edge.csv.gz': an edge names node -1, outside 0..2"),
        ("split/time/test.csv.gz", "3\n", r"test.csv.gz': a line is not the id of one node in 0..2"),
        ("split/time/test.csv.gz", "-1\n", r"test.csv.gz': a line is not the id of one node in 0..2"),
        ("split/time/test.csv.gz", "1,1\n", r"test.csv.gz': a line is not the id of one node in 0..2"),
        ("split/time/test.csv.gz", "1\n1\n", "test.csv.gz': a node is there twice"),
        ("split/time/test.csv.gz", "2\n", "test.csv.gz': a node is there twice, or also in another part"),
    ],
)
def test_counts_and_ranges_are_checked(folder, name, text, reason):
    _write(folder, name, text)
    with pytest.raises(DataError, match=reason):
        read_ogb(folder)


def test_split_schemes(folder):
    (folder / "split" / "random").mkdir()
    with pytest.raises(DataError, match="2 split schemes"):
        read_ogb(folder)
    (folder / "split" / "random").rmdir()
    (folder / "split").rename(folder / "elsewhere")
    with pytest.raises(DataError, match="split': it holds 0 split schemes"):
        read_ogb(folder)


@pytest.mark.parametrize(("name", "last"), [("ogbn_arxiv", 39), ("ogbn-products", 46)])
def test_known_names_have_known_classes(tmp_path, write_ogb, name, last):
    labels = np.arange(60)[:, None] % (last + 1)
    assert read_ogb(write_ogb(tmp_path / name, labels=labels)).num_classes == last + 1
    with pytest.raises(DataError, match=f"label {last + 1} is outside 0..{last}"):
        read_ogb(write_ogb(tmp_path / name, labels=np.where(labels == 5, last + 1, labels)))
    with pytest.raises(DataError, match="2 labels a node, not 1"):
        read_ogb(write_ogb(tmp_path / name, labels=np.zeros((60, 2))))
    assert read_ogb(write_ogb(tmp_path / "other", labels=labels + 7)).num_classes == last + 8


def test_which_of_them_are_directed(tmp_path, write_ogb):
    for name, expected in (("arxiv", True), ("products", False)):
        for folder in (f"ogbn_{name}", f"ogbn-{name}", name):
            assert read_ogb(write_ogb(tmp_path / folder)).directed is expected
    assert read_ogb(write_ogb(tmp_path / "mine")).directed


def test_the_name_of_the_working_directory_counts_too(tmp_path, write_ogb, monkeypatch):
    monkeypatch.chdir(write_ogb(tmp_path / "products"))
    assert not read_ogb(Path(".")).directed


def test_proteins_have_tasks_and_features_of_edges(tmp_path, write_ogb):
    edges = np.array([[0, 1], [1, 2], [3, 3]])
    labels = np.tile([0.0, 1.0], (60, 56))
    labels[7, 3] = np.nan
    changes = {
        "edges": edges,
        "features": None,
        "edge_features": np.array([[1, 0.5], [3, 1], [5, 0]]),
        "labels": labels,
        "scheme": "species",
    }
    source = read_ogb(write_ogb(tmp_path / "ogbn_proteins", **changes))
    # Node 1 is at the ends of two edges, node 4 of none.
    np.testing.assert_array_equal(source.features[:5], [[1, 0.5], [2, 0.75], [3, 1], [5, 0], [0, 0]])
    np.testing.assert_array_equal(source.labels, labels)
    assert not source.directed and source.num_classes == 112 and source.labels.dtype == np.float32
    assert load("ogbn-proteins", data_dir=tmp_path).task == "labels"
    with pytest.raises(DataError, match="111 labels a node, not 112"):
        read_ogb(write_ogb(tmp_path / "ogbn_proteins", **changes | {"labels": labels[:, 1:]}))
    with pytest.raises(DataError, match=r"edge-feat.csv.gz': it has 2 lines for 3 edges"):
        read_ogb(write_ogb(tmp_path / "ogbn_proteins", **changes | {"edge_features": np.ones((2, 8))}))


@pytest.mark.parametrize("changes", [{}, {"features": None}, {"labels": np.tile([0.0, np.nan, 1.0], (60, 1))}])
def test_the_second_time_it_comes_from_the_cache_and_is_the_same(tmp_path, write_ogb, monkeypatch, same, changes):
    monkeypatch.setenv("LIPGNN_CACHE", str(tmp_path / "cache"))
    folder = write_ogb(tmp_path / "mine", **changes)
    first = read_ogb(folder)
    fingerprint = load(folder, features="svd").fingerprint
    monkeypatch.setattr(ogb, "_table", None)
    again = read_ogb(folder)
    same(again, first)
    assert (again.name, again.origin) == (first.name, first.origin) == ("mine", str(folder))
    assert load(folder, features="svd").fingerprint == fingerprint


@pytest.mark.parametrize("name", ["raw/node-label.csv.gz", "split/time/valid.csv.gz"])
def test_a_changed_file_is_read_anew(tmp_path, write_ogb, monkeypatch, name):
    monkeypatch.setenv("LIPGNN_CACHE", str(tmp_path / "cache"))
    folder = write_ogb(tmp_path / "mine")
    read_ogb(folder)
    (folder / name).write_bytes(b"no gzip")
    with pytest.raises(DataError, match=os.path.basename(name)):
        read_ogb(folder)


def test_a_folder_of_another_name_is_checked_although_its_files_are_cached(tmp_path, write_ogb, monkeypatch):
    """The name decides what is known of a folder, so it is part of what the cache goes by."""
    monkeypatch.setenv("LIPGNN_CACHE", str(tmp_path / "cache"))
    folder = write_ogb(tmp_path / "mine", labels=np.arange(60)[:, None])
    assert read_ogb(folder).num_classes == 60
    folder.rename(tmp_path / "ogbn_arxiv")
    with pytest.raises(DataError, match=r"label 59 is outside 0..39"):
        read_ogb(tmp_path / "ogbn_arxiv")


def test_the_copy_of_arxiv_without_features(raw_data):
    source = read("ogbn-arxiv", data_dir=raw_data)
    assert (source.num_nodes, source.edges.shape[1], source.num_classes) == (169343, 1166243, 40)
    sizes = [int(mask.sum()) for mask in source.splits["public"].parts.values()]
    assert sizes == [90941, 29799, 48603]
    if source.num_features:
        pytest.skip("this copy has features")
    with pytest.raises(DataError, match="comes without node features"):
        load("ogbn-arxiv", data_dir=raw_data)
