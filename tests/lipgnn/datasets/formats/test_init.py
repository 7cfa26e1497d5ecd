"""Each format is recognized by its names, and by nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lipgnn.datasets import load, read
from lipgnn.datasets.formats import FORMATS, detect, readable, recognize
from lipgnn.datasets.source import Source
from lipgnn.errors import DataError


@pytest.mark.parametrize(
    ("file", "given", "name"),
    [
        ("a.npz", "a.npz", "npz"),
        ("nodes.csv", "", "csv"),
        ("nodes.csv.gz", "", "csv"),
        ("nodes.csv", "nodes.csv", "csv"),
        ("out1_graph_edges.txt", "", "geom-gcn"),
        ("raw/edge.csv.gz", "", "ogb"),
        ("ind.a.graph", "", "planetoid"),
        ("ind.a.graph", "ind.a", "planetoid"),
    ],
)
def test_recognized(tmp_path, file, given, name):
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).touch()
    assert detect(tmp_path / given) is FORMATS[name]
    assert [key for key, one in FORMATS.items() if one.recognizes(tmp_path / given)] == [name]


@pytest.mark.parametrize("member, name", [("node_labels", "heterophilous"), ("adj_indptr", "shchur"), ("edges", "npz")])
def test_npz_files_are_told_apart_by_what_they_hold(tmp_path, member, name):
    np.savez(tmp_path / "a.npz", **{member: np.ones(2)})
    assert detect(tmp_path / "a.npz") is FORMATS[name]


@pytest.mark.parametrize(("given", "reason"), [("", "no readable format"), ("a.txt", "no readable"), ("b", "no such")])
def test_not_recognized(tmp_path, given, reason):
    (tmp_path / "a.txt").touch()
    assert recognize(tmp_path / given) is None
    with pytest.raises(DataError, match=reason) as caught:
        detect(tmp_path / given)
    assert all(format_.description in caught.value.hint for format_ in FORMATS.values())


class Ring:
    """A toy: `N.ring` is a cycle of N nodes in two classes."""

    description = "a file called N.ring"

    def recognizes(self, path):
        return path.suffix == ".ring"

    def read(self, path):
        nodes = np.arange(int(path.stem))
        edges = np.stack([nodes, np.roll(nodes, 1)])
        features = np.eye(len(nodes), dtype=np.float32)
        return Source(path.stem, edges, False, features, nodes % 2, {}, origin=str(path))


def test_a_format_is_one_class_and_one_line(tmp_path, monkeypatch):
    (tmp_path / "60.ring").touch()
    with pytest.raises(DataError, match="no readable format"):
        read(str(tmp_path / "60.ring"))
    monkeypatch.setitem(FORMATS, "ring", Ring())
    assert recognize(tmp_path / "60.ring") is FORMATS["ring"]
    assert load(str(tmp_path / "60.ring"), split="random:0:5:5").num_nodes == 60
    assert readable().endswith(" or a file called N.ring")


def test_a_planetoid_prefix_is_no_file_and_an_odd_file_is_nothing(tmp_path):
    (tmp_path / "ind.a.graph").touch()
    (tmp_path / "ind.a").touch()
    assert recognize(tmp_path / "ind.a") is None
    assert recognize(Path("ind.a")) is None


def test_formats_are_known_without_torch():
    code = "import sys, lipgnn.datasets.formats; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
