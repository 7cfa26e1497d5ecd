"""Each format is recognized by its names, and by nothing else."""

from __future__ import annotations

import pytest

from lipgnn.datasets.formats.geom_gcn import read_geom_gcn
from lipgnn.datasets.formats.npz import read_npz
from lipgnn.datasets.formats.ogb import read_ogb
from lipgnn.datasets.formats.planetoid import read_planetoid
from lipgnn.datasets.formats.recognize import detect, recognize
from lipgnn.datasets.formats.tables import read_folder
from lipgnn.errors import DataError


@pytest.mark.parametrize(
    ("file", "given", "reader"),
    [
        ("a.npz", "a.npz", read_npz),
        ("nodes.csv", "", read_folder),
        ("nodes.csv.gz", "", read_folder),
        ("nodes.csv", "nodes.csv", read_folder),
        ("out1_graph_edges.txt", "", read_geom_gcn),
        ("raw/edge.csv.gz", "", read_ogb),
        ("ind.a.graph", "", read_planetoid),
        ("ind.a.graph", "ind.a", read_planetoid),
    ],
)
def test_recognized(tmp_path, file, given, reader):
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).touch()
    assert detect(tmp_path / given) is reader


@pytest.mark.parametrize(("given", "reason"), [("", "no readable format"), ("a.txt", "no readable"), ("b", "no such")])
def test_not_recognized(tmp_path, given, reason):
    (tmp_path / "a.txt").touch()
    assert recognize(tmp_path / given) is None
    with pytest.raises(DataError, match=reason) as caught:
        detect(tmp_path / given)
    assert "npz" in caught.value.hint
