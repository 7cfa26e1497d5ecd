import csv
import io
import json

import numpy as np
import pytest

RUN = ("train", "--dataset", "nodes.csv", "--layers", 2, "--hidden", 2, "--heads", 2, "--epochs", 4, "--json", "-q")


@pytest.fixture
def tables(tmp_path):
    """A graph with ids and classes that are texts, in two files; and the same without labels in a folder of its own."""
    draw = np.random.RandomState(0)
    rows = [[f"u{k:03}", "cat" if k % 2 else "dog", ("train", "val", "test")[k // 2 % 3], k % 2] for k in range(60)]
    edges = "".join(f"u{a:03},u{b:03}\n" for a, b in draw.randint(0, 60, size=(120, 2)))
    rows = [[*row, *draw.rand(3).round(3)] for row in rows]
    (tmp_path / "new").mkdir()
    for folder, kept in ((tmp_path, slice(None)), (tmp_path / "new", [0, *range(3, 7)])):
        lines = [["id", "label", "split", "a", "b", "c", "d"], *rows]
        text = "".join(",".join(map(str, np.array(line, dtype=object)[kept])) + "\n" for line in lines)
        (folder / "nodes.csv").write_text(text)
        (folder / "edges.csv").write_text(f"source,target\n{edges}")
    return rows


@pytest.fixture
def run(invoke, tables):
    code, out, err = invoke(*RUN)
    assert code == 0, err
    return json.loads(out)


def predictions(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_graph_without_labels_is_predicted_with_ids_and_classes_as_written(invoke, run, tables):
    code, out, _ = invoke("predict", run["run_id"], "--dataset", "new/nodes.csv")
    found = predictions(out)
    assert code == 0 and [row["id"] for row in found] == [row[0] for row in tables]
    assert list(found[0]) == ["id", "predicted", "probability", "margin", "p_cat", "p_dog"]
    right = [row["predicted"] == truth[1] for row, truth in zip(found, tables, strict=True) if truth[2] == "test"]
    code, out, _ = invoke("evaluate", run["run_id"], "--json")
    assert np.mean(right) == pytest.approx(json.loads(out)["accuracy"]["test"])


def test_its_own_data_needs_no_name(invoke, run):
    own = invoke("predict", run["run_id"])[1]
    assert own == invoke("predict", f"results/runs/{run['run_id']}/best.safetensors", "--dataset", "nodes.csv")[1]
    other = [row["p_cat"] for row in predictions(invoke("predict", run["run_id"], "--dataset", "new")[1])]
    np.testing.assert_allclose(np.float64(other), np.float64([row["p_cat"] for row in predictions(own)]), atol=1e-6)


def test_into_a_file_with_radii(invoke, run, tmp_path):
    code, out, err = invoke("predict", run["run_id"], "--certify", "-o", "p.npz")
    assert code == 0 and "with a radius above 0" in out and "lipgnn export" in err
    with np.load(tmp_path / "p.npz") as read:
        assert read["ids"][0] == "u000" and read["radius"].shape == (60,)
    told = json.loads(invoke("predict", run["run_id"], "--json", "-o", "p.csv")[1])
    assert told["items"] == 60 and told["output"] == "p.csv" and sum(told["predicted"].values()) == 60
    listed = json.loads(invoke("predict", run["run_id"], "--json", "--batch-size", 7)[1])["predictions"]
    assert [row["id"] for row in listed] == [row["id"] for row in predictions((tmp_path / "p.csv").read_text())]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--dataset", "planted"), 4, "takes 4 features, and data set 'planted' has 32"),
        (("-o", "p.doc"), 2, "none of these"),
        (("--dataset", "nowhere.csv"), 4, "No such file"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(invoke, run, tmp_path, arguments, code, words):
    got, out, err = invoke("predict", run["run_id"], *arguments)
    assert (got, out) == (code, "") and words in err
    assert not (tmp_path / "p.doc").exists()


def test_data_without_labels_is_refused_for_training_and_scoring(invoke, run):
    for command in (("train", "--dataset", "new"), ("evaluate", run["run_id"], "--dataset", "new")):
        code, _, err = invoke(*command)
        assert code == 4 and "no node has a label" in err and "lipgnn predict" in err
    assert invoke("datasets", "show", "new", "--json")[0] == 0
