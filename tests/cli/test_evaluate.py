import json

import pytest

from lipgnn.catalog import PATH_MEASURES

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


def test_data_of_its_own_that_is_not_here_is_exit_4(invoke, planted_file, tmp_path, monkeypatch):
    monkeypatch.setenv("LIPGNN_DATA", str(tmp_path / "first"))
    assert invoke("datasets", "import", planted_file, "--name", "mine")[0] == 0
    run = json.loads(invoke(*RUN, "--dataset", "mine")[1])["run_id"]
    monkeypatch.setenv("LIPGNN_DATA", str(tmp_path / "second"))
    code, _, err = invoke("evaluate", run)
    assert code == 4 and "trained on 'mine', which is not here" in " ".join(err.split()) and "LIPGNN_DATA" in err
    assert invoke("evaluate", run, "--dataset", "mine")[0] == 2


def test_what_is_no_model_file_is_told_in_words(invoke, planted_file):
    code, _, err = invoke("evaluate", "nofile.safetensors")
    assert code == 2 and "There is no file 'nofile.safetensors'" in err
    code, _, err = invoke("evaluate", planted_file)
    assert code == 4 and "it is no safetensors file" in " ".join(err.split())


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


@pytest.fixture
def walks(invoke):
    """A run on roads."""
    options = ("--model", "diffusion", "--layers", 3, "--epochs", 1, "--json", "-q")
    return json.loads(invoke("train", "--dataset", "planar", *options)[1])


def test_walks_are_shown_beside_those_that_know_nothing(invoke, walks):
    found = json.loads(invoke("evaluate", walks["run_id"], "--json")[1])
    rows = {row["walk"]: row for row in found["tables"]["walks"]["rows"]}
    measures = {name: walks[name] for name in PATH_MEASURES}
    assert {name: rows["model"][name] for name in measures} == pytest.approx(measures)
    # On average a node has 5.8 out-edges there, and a leg is two of them long.
    assert rows["uniform"]["choice_accuracy"] == pytest.approx(1 / 5.8, abs=0.01)
    assert rows["uniform"]["path_nll"] == pytest.approx(3.56, abs=0.05)
    assert rows["uniform-nb"]["path_nll"] == pytest.approx(3.37, abs=0.05)
    assert rows["model"]["target_rank"] is None
    assert {row["steps"] for row in found["tables"]["horizons"]["rows"]} == {"2"}
    code, out, _ = invoke("evaluate", walks["run_id"])
    assert code == 0
    for words in ("uniform-nb", "choice accuracy deg3", "Steps of a walk: given", f"{rows['uniform']['path_nll']:.2f}"):
        assert words in out
    assert "target rank" not in out


def test_there_are_no_further_tables_of_nodes(invoke, result):
    assert json.loads(invoke("evaluate", result["run_id"], "--json")[1])["tables"] == {}


@pytest.mark.parametrize(
    "command, words",
    [
        (("evaluate", "--certify"), "walks have none"),
        (("diagnose",), "are of walks"),
        (("diagnose", "--reach"), "are of walks"),
        (("diagnose", "--over", "epochs"), "has not recorded how similar"),
    ],
)
def test_what_walks_do_not_have_is_refused_in_a_sentence(invoke, walks, command, words):
    code, out, err = invoke(command[0], walks["run_id"], *command[1:])
    assert (code, out) == (2, "")
    assert words in err.splitlines()[0]
