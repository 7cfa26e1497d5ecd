import json

import pytest

RUN = ("train", "--dataset", "planted", "--layers", 2, "--hidden", 2, "--heads", 2, "--epochs", 12, "--json", "-q")


@pytest.fixture
def result(invoke):
    return json.loads(invoke(*RUN)[1])


@pytest.fixture
def planted_file(tmp_path):
    """The planted partition as a file of its own, which changes its name and nothing else."""
    from lipgnn.datasets import read, write_npz

    path = tmp_path / "copy.npz"
    write_npz(read("planted"), path)
    return path


@pytest.mark.parametrize("reference", ["id", "prefix", "folder", "file"])
def test_a_model_is_found_in_every_way_and_scores_as_in_training(invoke, result, tmp_path, reference):
    folder = f"results/runs/{result['run_id']}"
    given = {
        "id": result["run_id"],
        "prefix": result["run_id"][:4],
        "folder": folder,
        "file": f"{folder}/best.safetensors",
    }[reference]
    code, out, _ = invoke("evaluate", given, "--json")
    evaluation = json.loads(out)
    assert code == 0
    assert evaluation["accuracy"] == {part: result[f"{part}_score"] for part in ("train", "val", "test")}


def test_for_people_there_are_tables(invoke, result):
    code, out, _ = invoke("evaluate", result["run_id"])
    assert code == 0
    for words in ("test accuracy", "precision", "Confusion", "attention entropy"):
        assert words in out


def test_another_data_set_of_the_same_shape(invoke, result, planted_file):
    code, out, _ = invoke("evaluate", result["run_id"], "--dataset", planted_file, "--json")
    assert (code, json.loads(out)["dataset"]) == (0, "copy")


def test_another_split(invoke, result):
    code, out, _ = invoke("evaluate", result["run_id"], "--split", "random:0", "--json")
    evaluation = json.loads(out)
    assert code == 0
    assert evaluation["fingerprint"] != evaluation["trained_on"]


def test_data_of_another_shape_is_refused_with_both_shapes(invoke, result):
    code, _, err = invoke("evaluate", result["run_id"], "--dataset", "cora")
    assert code == 4
    assert "32 features and 4 classes" in err and "1433 and 7" in err


def test_data_that_has_changed_is_refused_unless_asked_for(invoke, planted_file):
    import dataclasses

    from lipgnn.datasets import read, write_npz

    run = json.loads(invoke(*RUN, "--dataset", planted_file)[1])
    source = read(str(planted_file))
    write_npz(dataclasses.replace(source, edges=source.edges[:, 1:]), planted_file)
    code, _, err = invoke("evaluate", run["run_id"])
    assert code == 4
    assert "the data has changed" in err
    assert invoke("evaluate", run["run_id"], "--dataset", planted_file)[0] == 0


def test_a_run_without_a_model_says_what_to_do(invoke, result, tmp_path):
    (tmp_path / "results" / "runs" / result["run_id"] / "best.safetensors").unlink()
    code, _, err = invoke("evaluate", result["run_id"])
    assert code == 4
    assert "Finish the run first" in err


def test_ogb_s_own_evaluator_stands_beside_for_its_data_sets(invoke, write_ogb, tmp_path, monkeypatch, result):
    monkeypatch.setenv("LIPGNN_DATA", str(tmp_path))
    write_ogb(tmp_path / "ogbn_arxiv")
    run = json.loads(invoke(*RUN, "--dataset", "ogbn-arxiv")[1])["run_id"]
    found = json.loads(invoke("evaluate", run, "--json")[1])
    assert found["official"] == pytest.approx(found["accuracy"], abs=1e-12)
    assert f"(OGB: {found['official']['test']:.4g})" in invoke("evaluate", run)[1]
    assert json.loads(invoke("evaluate", result["run_id"], "--json")[1])["official"] is None
