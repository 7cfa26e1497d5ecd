"""The command: what it can be given, what it refuses, and what it prints and writes."""

import csv
import json
import math
import shlex

import pytest

SMALL = ("--dataset", "planted", "--hidden", 2, "--heads", 2)
RUN = ("train", *SMALL, "--layers", 2, "--epochs", 6, "--json", "-q")
NEW = ("diagnose", "--init", *SMALL)


@pytest.fixture
def result(invoke):
    return json.loads(invoke(*RUN)[1])


def test_json_has_a_verdict_with_evidence_and_a_row_for_every_layer(invoke, result):
    code, out, _ = invoke("diagnose", result["run_id"], "--json")
    found = json.loads(out)
    assert code == 0
    # Six epochs are few.
    assert found["verdict"] == "undertrained" and found["evidence"]
    assert found["options"][0]["option"] == "--epochs 24"
    assert found["at"] == "end of training"
    assert found["accuracy"] == {part: result[f"{part}_score"] for part in ("train", "val", "test")}
    assert [row["layer"] for row in found["layers"]] == [0, 1, 2]
    for row in found["layers"]:
        for name in ("grad_norm", "grad_mu", "feat_mu", "rank", "rank1_residual", "dirichlet", "mad"):
            assert math.isfinite(row[name])
    for row in found["layers"][1:]:
        assert 0 <= row["entropy"] <= 1 and 0 <= row["saturated"] <= 1 and row["bound"] > 0
        assert row["empirical"] is None


@pytest.mark.parametrize("sharing, shared_dim", [("collab", 3), ("mqa", 0), ("gqa:2", 2)])
def test_a_run_whose_heads_share_queries_and_keys_is_measured_like_others(invoke, sharing, shared_dim):
    options = ("--model", "gt", "--head-sharing", sharing, "--shared-dim", shared_dim, "--residual", "identity")
    run = json.loads(invoke(*RUN, *options)[1])
    code, out, _ = invoke("diagnose", run["run_id"], "--certify", "--reach", "--json")
    found = json.loads(out)
    assert (code, found["accuracy"]["test"]) == (0, run["test_score"])
    assert found["spec"]["head_sharing"] == sharing
    for row in found["layers"][1:]:
        assert 0 <= row["entropy"] <= 1 and 0 < row["empirical"] <= row["bound"]
    assert invoke("evaluate", run["run_id"], "--json")[0] == 0


def test_at_the_start_a_run_is_the_new_network_of_its_options(invoke, result):
    code, out, _ = invoke("diagnose", result["run_id"], "--init", "--json")
    of_run = json.loads(out)
    new = json.loads(invoke(*NEW, "--layers", 2, "--json")[1])
    assert (code, of_run["at"]) == (0, "initialization")
    assert of_run["layers"] == new["layers"]
    assert new["model"] is None
    assert of_run["layers"] != json.loads(invoke("diagnose", result["run_id"], "--json")[1])["layers"]


def test_the_value_of_init_is_that_of_the_option(invoke):
    code, out, _ = invoke("diagnose", "--init", "orthogonal", *SMALL, "--layers", 2, "--json")
    assert (code, json.loads(out)["spec"]["init"]) == (0, "orthogonal")
    code, _, err = invoke("diagnose", "--init", "orthogonl", *SMALL)
    assert code == 2 and "orthogonal" in err


def test_people_see_the_verdict_first_then_tables_then_what_to_type(invoke):
    plain = ("--model", "gcn", "--norm", "none", "--residual", "none", "--activation", "relu")
    code, out, err = invoke(*NEW, *plain, "--layers", 30)
    assert code == 0
    assert out.index("vanishing") < out.index("Gradients and features")
    assert "study deep" in out
    assert "are left out; --all measures and shows them" in err
    following = err.split("Next:")[1].strip()
    assert following.startswith("lipgnn train") and "--weight-norm" in following
    everything = invoke(*NEW, *plain, "--layers", 30, "--all")[1]
    assert len(everything.splitlines()) > len(out.splitlines())


def test_the_command_that_is_printed_can_be_typed(invoke):
    _, _, err = invoke(*NEW, "--layers", 2)
    words = shlex.split(err.split("Next:")[1])
    assert invoke(*words[1:], "--epochs", 1, "-q")[0] == 0


def test_a_network_that_overflows_is_told_and_no_failure(invoke):
    wild = ("--hidden", 8, "--heads", 8, "--norm", "none", "--residual", "identity", "--layers", 200)
    code, out, _ = invoke(*NEW, *wild, "--json")
    found = json.loads(out)
    assert (code, found["verdict"]) == (0, "exploding")
    assert found["layers"][0]["grad_norm"] is None


def test_csv_and_figures_have_what_was_found(invoke, tmp_path):
    code, out, _ = invoke(*NEW, "--layers", 3, "--csv", "layers.csv", "--figure", "layers.svg", "--json")
    rows = list(csv.DictReader((tmp_path / "layers.csv").read_text().splitlines()))
    assert code == 0
    assert [float(row["grad_mu"]) for row in rows] == [row["grad_mu"] for row in json.loads(out)["layers"]]
    assert rows[0]["contraction"] == ""
    assert "residual to rank one" in (tmp_path / "layers.svg").read_text()
    code, _, err = invoke(*NEW, "--layers", 3, "--figure", "layers.txt")
    assert code == 2 and ".pdf" in err


def test_parts_switched_off_stand_side_by_side(invoke):
    code, out, _ = invoke(*NEW, "--layers", 3, "--ablate", "skip,norm", "--json")
    variants = json.loads(out)["ablation"]
    assert code == 0
    assert [variant["off"] for variant in variants] == [[], ["skip"], ["norm"], ["skip", "norm"]]
    assert all(len(variant["residuals"]) == 4 for variant in variants)
    assert "skip + norm" in invoke(*NEW, "--layers", 3, "--ablate", "skip,norm")[1]
    for wrong in ("mlp", "head"):
        code, _, err = invoke(*NEW, "--layers", 3, "--ablate", wrong)
        assert code == 2 and wrong in err


def test_paths_sum_to_the_whole(invoke):
    linear = ("--layers", 3, "--activation", "none", "--norm", "none", "--residual", "identity")
    code, out, _ = invoke(*NEW, *linear, "--paths", 4, "--path-length", 2, "--json")
    paths = json.loads(out)["paths"]
    assert code == 0
    assert sum(row["share"] for row in [*paths["lengths"], paths["bias"]]) == pytest.approx(1)
    assert [row["paths"] for row in paths["lengths"]] == [1, 6, 12, 8]
    assert len(paths["single"]) == 4
    assert all(sum(head > 0 for head in row["heads"]) == 2 for row in paths["single"])
    assert "sum over paths" in invoke(*NEW, *linear, "--paths")[1]
    code, _, err = invoke(*NEW, "--layers", 3, "--paths")
    assert code == 2 and "--activation none" in err


def test_reach_is_the_share_of_each_distance(invoke, result, tmp_path):
    code, out, _ = invoke("diagnose", result["run_id"], "--reach", 3, "--json", "--figure", "reach.svg")
    reach = json.loads(out)["reach"]
    assert (code, reach["targets"], reach["beyond"]) == (0, 3, 0)
    assert sum(row["share"] for row in reach["distances"]) == pytest.approx(1)
    assert "distance in hops" in (tmp_path / "reach.svg").read_text()
    code, out, err = invoke(*NEW, "--layers", 6, "--reach")
    assert code == 0 and "outputs of 16 nodes" in out and "5–6" in out
    assert "averaging over neighbours alone" in err
    assert invoke(*NEW, "--reach", 0)[0] == 2


def test_over_epochs_is_what_the_run_recorded(invoke, result, tmp_path):
    code, _, err = invoke("diagnose", result["run_id"], "--over", "epochs")
    assert code == 2 and "--record similarity --force" in err
    invoke(*RUN, "--record", "similarity", "--force")
    code, out, _ = invoke("diagnose", result["run_id"], "--over", "epochs", "--json", "--figure", "epochs.png")
    found = json.loads(out)
    assert code == 0
    assert [row["epoch"] for row in found["epochs"]] == list(range(7))
    assert len(found["grad_mu"]) == 7 and len(found["grad_mu"][0]) == 3
    assert (tmp_path / "epochs.png").read_bytes().startswith(b"\x89PNG")
    assert "grad_growth" in invoke("diagnose", result["run_id"], "--over", "epochs")[1]
    (tmp_path / "results" / "runs" / result["run_id"] / "similarity.safetensors").write_bytes(b"torn")
    assert invoke("diagnose", result["run_id"], "--over", "epochs")[0] == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--init"),
        (("0123",), "No run '0123'"),
        (("--init", "--over", "epochs"), "Only a run has epochs"),
        (("--init", "--path-length", 2), "--paths 10"),
    ],
)
def test_wrong_use_is_one_sentence_and_exit_2(invoke, arguments, words):
    code, out, err = invoke("diagnose", *arguments)
    assert (code, out) == (2, "")
    assert words in err


def test_a_run_has_options_of_its_own(invoke, result):
    for option in (("--layers", 3), ("--preset", "deep")):
        code, _, err = invoke("diagnose", result["run_id"], *option)
        assert code == 2 and f"its own {option[0]}" in err
    assert invoke("diagnose", result["run_id"], "--device", "cpu")[0] == 0


def test_a_damaged_model_is_exit_4(invoke, result, tmp_path):
    (tmp_path / "results" / "runs" / result["run_id"] / "best.safetensors").write_bytes(b"torn")
    code, _, err = invoke("diagnose", result["run_id"])
    assert code == 4 and "Cannot use the model file" in err


WILD = ("--dataset", "planted", "--model", "gcn", "--layers", 256, "--hidden", 4, "--heads", 1, "--norm", "none")


def test_a_run_that_diverged_at_once_is_diagnosed_evaluated_and_gone_on_from(invoke):
    code, _, err = invoke("train", *WILD, "--residual", "identity", "--epochs", 2, "-q")
    assert code == 1 and "before its first step" in err
    words = [shlex.split(line)[1:] for line in err.partition("Next:\n")[2].splitlines()]
    assert [one[0] for one in words] == ["diagnose", "train"]
    run = words[0][1]
    code, out, _ = invoke(*words[0], "--json")
    found = json.loads(out)
    assert (code, found["verdict"], found["at"]) == (0, "diverged", "last good state")
    # What is advised is a remedy.
    assert invoke(*words[1], "-q")[0] == 0
    code, _, err = invoke("evaluate", run)
    assert code == 0 and "This model is its last good state." in err
    code, out, _ = invoke("train", "--from", run, "--at", "last-good", "--residual", "scaled", "--print-config")
    assert code == 0 and 'start = "model:' in out and "layers = 256" in out


def test_a_state_that_there_is_none_of_is_refused(invoke, result):
    for words in (("diagnose", result["run_id"]), ("evaluate", result["run_id"])):
        code, _, err = invoke(*words, "--at", "last-good")
        assert code == 2 and "keeps no last good state" in err
    code, _, err = invoke("train", *SMALL, "--at", "last-good")
    assert code == 2 and "Add --from RUN." in err
