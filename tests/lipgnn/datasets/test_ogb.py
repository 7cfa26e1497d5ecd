"""OGB's raw csv.gz folders: a small one written here, and ogbn-arxiv where it is at hand."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from lipgnn.datasets import read
from lipgnn.datasets.ogb import read_ogb
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


@pytest.mark.parametrize("name", [name for name in FILES if "num-edge" not in name])
def test_missing_truncated_and_wordy_files_are_named(folder, name):
    path = folder / name
    whole = path.read_bytes()
    for content in (whole[:-6], b"no gzip", gzip.compress(b"word,word\n"), gzip.compress(b"")):
        path.write_bytes(content)
        with pytest.raises(DataError) as caught:
            read_ogb(folder)
        assert path.name in caught.value.message
    path.unlink()
    with pytest.raises(DataError) as caught:
        read_ogb(folder)
    assert path.name in caught.value.message


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("raw/num-node-list.csv.gz", "4\n", "3 rows of features for 4 nodes"),
        ("raw/num-node-list.csv.gz", "2\n1\n", "2 graphs"),
        ("raw/node-label.csv.gz", "1\n0\n", "2 rows of labels for 3 nodes"),
        ("raw/node-label.csv.gz", "1,0\n0,0\n1,0\n", "2 labels a node"),
        ("raw/node-label.csv.gz", "0.5\n0\n1\n", "not an integer"),
        ("raw/edge.csv.gz", "0,1,2\n", "3 fields"),
        ("raw/edge.csv.gz", "0,3\n", "node 3, outside 0..2"),
        ("split/time/test.csv.gz", "3\n", "test split names a node outside"),
        ("split/time/test.csv.gz", "2\n", "two of its masks"),
    ],
)
def test_counts_are_checked(folder, name, text, reason):
    _write(folder, name, text)
    with pytest.raises(DataError, match=reason):
        read_ogb(folder)


def test_two_split_schemes(folder):
    (folder / "split" / "random").mkdir()
    with pytest.raises(DataError, match="2 split schemes"):
        read_ogb(folder)


def test_a_folder_without_features_says_so(folder):
    (folder / "raw/node-feat.csv.gz").unlink()
    with pytest.raises(DataError, match="comes without node features") as caught:
        read_ogb(folder)
    assert "node-feat.csv.gz" in caught.value.hint


def test_the_copy_of_arxiv_without_features(raw_data):
    if (raw_data / "ogbn_arxiv" / "raw" / "node-feat.csv.gz").exists():
        pytest.skip("this copy has features")
    with pytest.raises(DataError, match="comes without node features"):
        read("ogbn-arxiv", data_dir=raw_data)
