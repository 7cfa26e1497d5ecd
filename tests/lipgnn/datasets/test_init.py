"""`load` and `read`: one door for every format, and no torch behind it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from lipgnn.datasets import identify, load, read, write_npz
from lipgnn.datasets.prepare import prepare_edges
from lipgnn.errors import DataError, UsageError


def test_importing_and_reading_need_neither_torch_nor_pandas():
    code = (
        "import sys, lipgnn.datasets as d; d.describe(d.load('cora'));"
        "assert not {'torch', 'dgl', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_a_path_loads_like_a_name(tmp_path):
    cora = read("cora")
    write_npz(cora, tmp_path / "copy.npz")
    copy = load(tmp_path / "copy.npz")
    assert copy.name == "copy" and copy.fingerprint == load("cora").fingerprint
    assert load("copy", data_dir=tmp_path).fingerprint == copy.fingerprint


def test_options_reach_the_data():
    plain, changed = load("cora"), load("cora", split="random:0", features="row", missing=0.5)
    assert changed.fingerprint != plain.fingerprint
    sums = np.asarray(changed.features_array.sum(axis=1)).ravel()
    np.testing.assert_allclose(sums[changed.split.train], 1, rtol=1e-6)
    assert (sums == 0).sum() == round(0.5 * (2708 - 140))


def test_the_name_asked_for_is_the_name_given(tmp_path):
    (tmp_path / "some_name").mkdir()
    (tmp_path / "some_name" / "nodes.csv").write_text("id,label,f\na,0,1\n")
    (tmp_path / "some_name" / "edges.csv").write_text("source,target\n")
    assert read("some-name", data_dir=tmp_path).name == "some-name"
    assert read(tmp_path / "some_name").name == "some_name"


def test_planted_needs_no_file(tmp_path):
    assert load("planted", data_dir=tmp_path).num_nodes == 400


@pytest.mark.parametrize("where", ["name", "path"])
def test_undirected_on_request(tmp_path, write_ogb, where):
    folder = write_ogb(tmp_path / "ogbn_arxiv")
    name = "ogbn-arxiv" if where == "name" else str(folder)
    directed, undirected = (load(text, data_dir=tmp_path) for text in (name, f"{name}:undirected"))
    pairs = {tuple(pair) for pair in directed.edges.T.tolist()}
    assert {tuple(pair) for pair in undirected.edges.T.tolist()} == pairs | {(v, u) for u, v in pairs}
    assert undirected.name == f"{directed.name}:undirected" and undirected.fingerprint != directed.fingerprint


def test_directed_on_request_takes_edges_as_they_are_listed(tmp_path):
    (tmp_path / "nodes.csv").write_text("id,label,f\na,0,1\nb,1,2\n")
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    both, listed = (read(f"{tmp_path}{suffix}") for suffix in ("", ":directed"))
    assert (both.directed, listed.directed) == (False, True)
    pairs = [{tuple(pair) for pair in prepare_edges(source).T.tolist()} for source in (both, listed)]
    assert pairs == [{(0, 0), (1, 1), (0, 1), (1, 0)}, {(0, 0), (1, 1), (0, 1)}]


def test_what_is_undirected_already_is_itself():
    assert load("cora:undirected").fingerprint == load("cora").fingerprint
    assert read("planted:undirected").name == "planted:undirected"


def test_identify_gives_the_fingerprint_with_and_without_features(tmp_path, write_ogb):
    assert identify("cora", split="random:1") == load("cora", split="random:1").fingerprint
    folder = write_ogb(tmp_path / "ogbn_arxiv", features=None)
    assert identify(folder) == load(folder, features="svd").fingerprint


def test_errors_pass_through(tmp_path):
    with pytest.raises(UsageError):
        load("no-such-set", data_dir=tmp_path)
    with pytest.raises(DataError):
        load(tmp_path / "no-such.npz")
    with pytest.raises(UsageError, match="no split"):
        load("cora", split="private")
