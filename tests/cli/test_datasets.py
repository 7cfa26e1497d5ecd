import json
import sys

import pytest

from lipgnn.catalog import DATASETS
from lipgnn.datasets import read, write_npz


@pytest.fixture
def data(monkeypatch, tmp_path):
    """A data directory of the test's own."""
    monkeypatch.setenv("LIPGNN_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def tables(tmp_path):
    """Three nodes in two CSV files."""
    (tmp_path / "nodes.csv").write_text("id,label,split,a,b\nx,red,train,1,0\ny,blue,val,0,1\nz,red,test,1,1\n")
    (tmp_path / "edges.csv").write_text("source,target\nx,y\ny,z\n")
    return tmp_path / "nodes.csv"


def test_list_shows_published_counts(invoke):
    code, out, _ = invoke("datasets", "list", "--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert code == 0
    counts = {name: [rows[name][key] for key in ("nodes", "edges", "features", "classes")] for name in rows}
    assert counts["cora"] == [2708, 5278, 1433, 7]
    assert counts["citeseer"] == [3327, 4552, 3703, 6]
    assert counts["pubmed"] == [19717, 44324, 500, 3]
    assert list(rows) == ["cora", "citeseer", "pubmed", "planted"]


def test_list_for_people_names_what_is_absent(invoke):
    code, out, err = invoke("datasets", "list")
    assert code == 0
    assert "19717" in out
    assert "ogbn-arxiv" in err


def test_list_has_what_was_imported_and_tells_what_it_cannot_read(invoke, data, tables):
    invoke("datasets", "import", tables, "--name", "mine")
    (data / "broken.npz").write_bytes(b"no")
    code, out, err = invoke("datasets", "list", "--json")
    assert code == 0
    assert json.loads(out)[-1]["name"] == "mine"
    assert "broken.npz" in err


def test_show_gives_statistics(invoke):
    facts = json.loads(invoke("datasets", "show", "cora", "--json")[1])
    assert facts["splits"] == {"public": {"train": 140, "val": 500, "test": 1000}}
    assert facts["homophily"] == pytest.approx(0.81, abs=0.005)
    # The literature uses this largest component of 2485 nodes as a data set of its own.
    assert (facts["components"], facts["largest_component"]) == (78, 2485)
    code, out, err = invoke("datasets", "show", "cora")
    assert code == 0
    assert "Neural_Networks" in out and "lipgnn train --dataset cora" in err


def test_path(invoke, data):
    assert invoke("datasets", "path") == (0, f"{data}\n", "")
    assert invoke("datasets", "path", "cora")[1].endswith("cora.npz\n")


def test_verify_knows_what_ships(invoke):
    code, out, _ = invoke("datasets", "verify", "--json")
    verdicts = {row["name"]: row["verdict"] for row in json.loads(out)}
    assert code == 0
    assert verdicts == {"cora": "whole", "citeseer": "whole", "pubmed": "whole", "planted": "readable"}


def test_verify_finds_damage(invoke, data, monkeypatch):
    data.mkdir()
    (data / "broken.npz").write_bytes(b"no")
    code, out, _ = invoke("datasets", "verify", "broken", "cora")
    assert code == 4
    assert "damaged" in out and "whole" in out


def test_verify_finds_a_file_that_was_replaced_by_another(invoke, tmp_path, monkeypatch):
    # By sys.modules, because the package has a function of the module's name.
    monkeypatch.setattr(sys.modules["lipgnn.datasets.locate"], "shipped_directory", lambda: tmp_path)
    write_npz(read("planted"), tmp_path / "cora.npz")
    code, out, _ = invoke("datasets", "verify", "cora")
    assert code == 4
    assert DATASETS["cora"].fingerprint in out


def test_import_then_train_by_name(invoke, data, tables):
    code, _, err = invoke("datasets", "import", tables, "--name", "mine")
    assert (code, (data / "mine.npz").exists()) == (0, True)
    assert "lipgnn datasets show mine" in err
    assert read("mine").class_names == ("blue", "red")
    assert invoke("train", "--dataset", "mine", "--layers", 1, "--epochs", 2)[0] == 0


def test_import_of_two_files_anywhere(invoke, data, tables, tmp_path):
    (tmp_path / "edges.csv").rename(tmp_path / "links.csv")
    assert invoke("datasets", "import", tables, "--edges", tmp_path / "links.csv", "--name", "m")[0] == 0
    assert read("m").edges.shape == (2, 2)


@pytest.mark.parametrize("flag, directed", [("--directed", True), ("--undirected", False)])
def test_import_takes_the_direction_it_is_told(invoke, data, tables, flag, directed):
    invoke("datasets", "import", tables, "--name", "m", flag)
    assert read("m").directed is directed


@pytest.mark.parametrize("name", ["../up", "a b", "", "cora", "x" * 100])
def test_import_refuses_names_that_are_paths_or_taken(invoke, data, tables, name):
    code, _, err = invoke("datasets", "import", tables, "--name", name)
    assert code == 2
    assert "--name" in err
    assert not data.exists() or not list(data.iterdir())


def test_import_overwrites_only_when_told(invoke, data, tables):
    assert [invoke("datasets", "import", tables, "--name", "m", *more)[0] for more in ((), (), ("--force",))] == [
        0,
        2,
        0,
    ]


def test_import_of_nothing_is_exit_4(invoke, data, tmp_path):
    assert invoke("datasets", "import", tmp_path / "none.npz")[0] == 4
    assert not data.exists()
