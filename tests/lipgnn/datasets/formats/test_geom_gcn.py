"""Geom-GCN's folders: both forms of features, splits in three places, and the published folders."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from lipgnn.datasets import describe, load
from lipgnn.datasets.formats.geom_gcn import read_geom_gcn
from lipgnn.errors import DataError

NODES = "node_id\tfeature\tlabel\n2\t0,1,1\t1\n0\t1,0,0\t0\n1\t0,0,0\t1\n"
INDEXED = "node_id\tfeature(feature_amount:3)\tlabel\n2\t0,3\t1\n0\t1,1\t0\n1\t\t1\n"
EDGES = "node_id\tnode_id\n0\t1\n2\t0\n0\t1\n"


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "geom-gcn" / "new_data" / "tiny"
    path.mkdir(parents=True)
    (path / "out1_graph_edges.txt").write_text(EDGES)
    (path / "out1_node_feature_label.txt").write_text(NODES)
    return path


def test_values(folder):
    source = read_geom_gcn(folder)
    assert source.name == "tiny" and source.directed and source.splits == {}
    assert source.features.toarray().tolist() == [[1, 0, 0], [0, 0, 0], [0, 1, 1]]
    assert source.labels.tolist() == [0, 1, 1]
    assert source.edges.tolist() == [[0, 2, 0], [1, 0, 1]]


def test_gzipped(folder):
    plain = folder / "out1_node_feature_label.txt"
    (folder / "out1_node_feature_label.txt.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    assert read_geom_gcn(folder).labels.tolist() == [0, 1, 1]


def test_numbers_of_features_that_are_one(folder):
    (folder / "out1_node_feature_label.txt").write_text(INDEXED)
    assert read_geom_gcn(folder).features.toarray().tolist() == [[0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 1]]


@pytest.mark.parametrize("place", [".", "../splits", "../../splits"])
def test_splits_in_order_of_number(folder, place):
    (folder / place).mkdir(exist_ok=True)
    for k in (10, 2):
        masks = np.roll(np.eye(3, dtype=np.uint8), k, axis=0)
        names = ("train_mask", "val_mask", "test_mask")
        np.savez(folder / place / f"tiny_split_0.6_0.2_{k}.npz", **dict(zip(names, masks, strict=True)))
    splits = read_geom_gcn(folder).splits
    assert list(splits) == ["geom-gcn:2", "geom-gcn:10"]
    assert splits["geom-gcn:2"].train.tolist() == np.roll(np.eye(3, dtype=bool), 2, axis=0)[0].tolist()


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("out1_graph_edges.txt", "node_id\tnode_id\n0\t9\n"),
        ("out1_graph_edges.txt", "node_id\tnode_id\n0\n"),
        ("out1_graph_edges.txt", "node_id\tnode_id\n0\tx\n"),
        ("out1_graph_edges.txt", "node_id\tnode_id\n0\t1\t2\n"),
        ("out1_graph_edges.txt", ""),
        ("out1_node_feature_label.txt", "header\n"),
        ("out1_node_feature_label.txt", NODES + "2\t0,0,0\t1\n"),
        ("out1_node_feature_label.txt", NODES + "7\t0,0,0\t1\n"),
        ("out1_node_feature_label.txt", NODES + "3\t0,0\t1\n"),
        ("out1_node_feature_label.txt", NODES + "3\t0,x,0\t1\n"),
        ("out1_node_feature_label.txt", NODES + "3\t0,0,0\tlabel\n"),
        ("out1_node_feature_label.txt", NODES + "3\t0,0,0\n"),
        ("out1_node_feature_label.txt", INDEXED.replace("0,3", "0,4")),
        ("out1_node_feature_label.txt", INDEXED.replace("0,3", "0,-1")),
    ],
)
def test_wrong_lines(folder, file, content):
    (folder / file).write_text(content)
    with pytest.raises(DataError, match="tiny"):
        read_geom_gcn(folder)


def test_damaged_gzip_and_bytes_that_are_no_text(folder):
    plain, packed = folder / "out1_node_feature_label.txt", folder / "out1_node_feature_label.txt.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes())[:-9])
    plain.unlink()
    with pytest.raises(DataError, match=r"label\.txt\.gz"):
        read_geom_gcn(folder)
    packed.write_bytes(b"no gzip")
    with pytest.raises(DataError, match=r"label\.txt\.gz"):
        read_geom_gcn(folder)
    packed.unlink()
    with pytest.raises(DataError, match="No such file"):
        read_geom_gcn(folder)
    plain.write_bytes(b"\xff\xfe\n\xff")
    with pytest.raises(DataError, match=r"label\.txt"):
        read_geom_gcn(folder)


@pytest.mark.parametrize(
    ("name", "nodes", "distinct", "features", "classes", "homophily"),
    # Counts of the published folders; homophily as a check on direction-free readings of them.
    [
        ("film", 7600, 30019, 932, 5, 0.22),
        ("texas", 183, 325, 1703, 5, 0.06),
        ("wisconsin", 251, 515, 1703, 5, 0.17),
        ("cornell", 183, 298, 1703, 5, 0.12),
        ("chameleon", 2277, 36101, 2325, 5, 0.23),
    ],
)
def test_published_folders(raw_data, name, nodes, distinct, features, classes, homophily):
    data = load(name, split="geom-gcn:9", data_dir=raw_data)
    facts = describe(data)
    assert (facts["nodes"], facts["features"], len(facts["classes"])) == (nodes, features, classes)
    assert facts["edges"] + facts["self_loops"] == distinct
    assert facts["homophily"] == pytest.approx(homophily, abs=0.005)
    assert [name for name in facts["splits"] if name.startswith("geom-gcn")] == [f"geom-gcn:{k}" for k in range(10)]
    np.testing.assert_array_equal(np.unique(data.features_array.data), [1])
