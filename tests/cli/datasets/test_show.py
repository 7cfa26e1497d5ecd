import json
import shutil

import numpy as np
import pytest
from five_files import change_line, write_five_files
from pictures import write_idx_folder


def test_list_shows_published_counts(invoke):
    code, out, _ = invoke("datasets", "list", "--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert code == 0
    counts = {name: [rows[name][key] for key in ("nodes", "edges", "features", "classes")] for name in rows}
    assert counts["cora"] == [2708, 5278, 1433, 7]
    assert counts["citeseer"] == [3327, 4552, 3703, 6]
    assert counts["pubmed"] == [19717, 44324, 500, 3]
    assert list(rows) == [
        "cora",
        "citeseer",
        "pubmed",
        "planted",
        "complete",
        "digits-parity",
        "digits",
        "planar",
        "mesh",
    ]
    assert counts["mesh"] == [400, 2964, 0, None]
    assert counts["digits"] == [64, None, 1, 10]
    assert counts["digits-parity"][:3] == [1797, 0, 64]


def test_images_are_shown_with_their_size_and_classes(invoke, tmp_path):
    folder = write_idx_folder(tmp_path / "mine")
    code, out, err = invoke("datasets", "show", folder)
    assert code == 0 and "72 of 8 × 8 pixels" in out and "50 train, 10 val, 12 test" in out
    assert "lipgnn train --dataset" in err
    code, out, _ = invoke("datasets", "show", "digits:4:rotated", "--json")
    facts = json.loads(out)
    assert (facts["images"], facts["side"], facts["published_test"]) == (1797, 8, 0)
    assert sum(row["images"] for row in facts["classes"]) == 1797


def test_list_for_people_names_what_is_absent(invoke):
    code, out, err = invoke("datasets", "list")
    assert code == 0
    assert "19717" in out
    assert "ogbn-arxiv" in err and "lipgnn datasets fetch minesweeper" in err and "minesweeper:SIZE[:SEED]" in err


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


def test_data_without_features_says_what_to_do(invoke, data, write_ogb):
    write_ogb(data / "ogbn_arxiv", features=None)
    code, out, err = invoke("datasets", "show", "ogbn-arxiv:undirected")
    assert code == 0
    assert "--features svd" in out and "undirected" in out
    assert "lipgnn train --dataset ogbn-arxiv:undirected --features svd" in err
    assert invoke("train", "--dataset", "ogbn-arxiv:undirected", "--layers", 1, "--epochs", 1)[0] == 4
    assert (
        invoke("train", "--dataset", "ogbn-arxiv:undirected", "--layers", 1, "--epochs", 1, "--features", "svd")[0] == 0
    )


@pytest.mark.parametrize("form", ["undirectd", "R"])
def test_a_suffix_that_is_none(invoke, form):
    code, _, err = invoke("datasets", "show", f"cora:{form}")
    assert code == 2 and "cora:undirected" in err


@pytest.mark.parametrize(
    ("damage", "file"),
    [
        ("missing split", "split"),
        ("label out of range", "node-label.csv.gz"),
        ("truncated gz", "edge.csv.gz"),
        ("wrong count", "edge.csv.gz"),
        ("node out of range", "test.csv.gz"),
    ],
)
def test_a_damaged_ogb_folder_is_one_sentence_and_exit_4(invoke, data, write_ogb, damage, file):
    changes = {
        "label out of range": {"labels": np.full((60, 1), 40)},
        "wrong count": {"num_edges": np.array([[178]])},
        "node out of range": {"test": np.array([[60]])},
    }
    folder = write_ogb(data / "ogbn_arxiv", **changes.get(damage, {}))
    if damage == "missing split":
        shutil.rmtree(folder / "split")
    if damage == "truncated gz":
        edges = folder / "raw" / "edge.csv.gz"
        edges.write_bytes(edges.read_bytes()[:-20])
    code, out, err = invoke("datasets", "show", "ogbn-arxiv")
    assert (code, out) == (4, "")
    assert err.startswith("Error: ") and err.count("\n") == 1 and f"{file}'" in err


def test_show_gives_statistics_of_trajectories(invoke, tmp_path):
    folder = write_five_files(tmp_path / "mine")
    code, out, err = invoke("datasets", "show", folder, "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert {key: facts[key] for key in ("nodes", "edges", "dead_ends", "trajectories", "left_out", "coordinates")} == {
        "nodes": 8,
        "edges": 8,
        "dead_ends": 1,
        "trajectories": 10,
        "left_out": 0,
        "coordinates": False,
    }
    assert (facts["observations"]["total"], facts["legs"]["total"]) == (40, 30)
    assert facts["legs"]["mean"] == pytest.approx(5 / 3)
    assert facts["splits"] == {"public": {"train": 7, "val": 1, "test": 2}}
    code, out, err = invoke("datasets", "show", folder)
    assert code == 0 and "7 train, 1 val, 2 test" in out and "mean 1.67" in out
    assert f"lipgnn train --dataset {folder}" in err


def test_trajectories_in_the_data_directory_are_listed(invoke, data):
    folder = write_five_files(data / "gps" / "laussane", rounds=2)
    rows = {row["name"]: row for row in json.loads(invoke("datasets", "list", "--json")[1])}
    assert (rows["lausanne"]["where"], rows["lausanne"]["nodes"]) == (str(folder), 8)
    assert "wikispeedia" in invoke("datasets", "list")[2]
    assert invoke("datasets", "path", "lausanne")[1] == f"{folder}\n"
    code, _, err = invoke("datasets", "show", "geolife")
    assert code == 4 and err.count("\n") == 2 and str(data / "gps" / "geolife") in err


@pytest.mark.parametrize(
    ("file", "line", "text", "told"),
    [
        ("edges", 9, None, "line 1"),
        ("paths", 3, "1\t99", "line 3"),
        ("observations", 5, "0\t0.5\t1\t0.25", "line 5"),
        ("paths", 3, "1\t3", "line 3"),
        ("paths", 7, "", "line 7"),
        ("lengths", None, None, "No such file"),
    ],
    ids=["counts", "unknown edge", "weights", "torn path", "empty leg", "no lengths"],
)
@pytest.mark.parametrize("command", [("datasets", "show"), ("train", "--dataset")], ids=lambda words: words[0])
def test_a_damaged_folder_of_trajectories_is_one_sentence_and_exit_4(invoke, tmp_path, command, file, line, text, told):
    folder = write_five_files(tmp_path / "mine")
    if line:
        change_line(folder, file, line, text)
    else:
        (folder / f"{file}.txt").unlink()
    code, out, err = invoke(*command, folder)
    assert (code, out) == (4, "")
    assert err.startswith(f"Error: Cannot use '{folder / file}.txt': ") and told in err


@pytest.mark.parametrize(
    ("file", "line", "text", "told"),
    [
        ("paths", 3, "1\t99", "line 3: edge 99 is none of 0 to 7"),
        ("lengths", 10, "109\t3", "line 10: in all, 39 lines of observations.txt are announced, and it has 40"),
    ],
)
def test_a_damaged_folder_ends_the_installed_program_with_4(lipgnn, tmp_path, file, line, text, told):
    folder = write_five_files(tmp_path / "mine")
    change_line(folder, file, line, text)
    done = lipgnn("datasets", "show", folder, check=4)
    assert (done.stdout, done.stderr) == ("", f"Error: Cannot use '{folder}/{file}.txt': {told}.\n")


def test_show_counts_types_of_edges(invoke, tmp_path):
    (tmp_path / "nodes.csv").write_text("id,label,f\na,0,1\nb,1,2\nc,0,3\n")
    kinds = [f"a,b,{kind}" for kind in range(9)]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target,type", *kinds, "b,c,0", ""]))
    code, out, _ = invoke("datasets", "show", tmp_path, "--json")
    assert code == 0 and json.loads(out)["edge_types"] == [2, *[1] * 8]
    text = " ".join(invoke("datasets", "show", tmp_path)[1].replace("│", " ").split())
    assert "9: 2 of type 0, 1 of type 1," in text and "and 1 more; the added self-loops are of one of their own" in text
