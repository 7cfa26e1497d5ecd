import csv
import json

import pytest
from safetensors import safe_open
from safetensors.torch import load_file, save_file

RUN = ("train", "--dataset", "planted", "--model", "gt", "--layers", 3, "--hidden", 4, "--heads", 3, "--epochs", 12)
QUIET = ("--json", "-q")


@pytest.fixture
def run(invoke):
    """The id of a trained Graph Transformer; its heads are 12 wide together."""
    return json.loads(invoke(*RUN, *QUIET)[1])["run_id"]


def model_of(run):
    return f"results/runs/{run}/best.safetensors"


@pytest.fixture
def refused(invoke, tmp_path):
    """refused(code, words, …) runs a command that must end with one sentence and leave no file."""

    def check(code, words, *arguments):
        before = sorted(tmp_path.rglob("*"))
        found, out, err = invoke("compress", *arguments)
        assert (found, out) == (code, "")
        first, *_ = err.splitlines()
        assert first.startswith("Error: ") and first.endswith(".") and words in first
        assert sorted(tmp_path.rglob("*")) == before

    return check


def test_a_compressed_model_is_a_model(invoke, run):
    """K7: what is in the file scores as what was in memory did, and diagnose takes it as well."""
    code, out, _ = invoke("compress", run, "--shared-dim", 5, "-o", "small.safetensors", "--json")
    found = json.loads(out)
    assert code == 0 and found["output"] == "small.safetensors"
    evaluation = json.loads(invoke("evaluate", "small.safetensors", "--json")[1])
    assert evaluation["accuracy"] == found["widths"][0]["scores"]
    before = json.loads(invoke("evaluate", run, "--json")[1])
    assert before["accuracy"] == found["before"]["scores"]
    assert invoke("diagnose", "small.safetensors", "--json")[0] == 0
    with safe_open("small.safetensors", framework="pt") as file:
        spec = json.loads(file.metadata()["lipgnn"])["spec"]
    assert (spec["head_sharing"], spec["shared_dim"]) == ("collab", 5)


def test_the_full_width_loses_nothing(invoke, run):
    found = json.loads(invoke("compress", run, "--shared-dim", 12, "--json")[1])
    (width,) = found["widths"]
    assert width["scores"] == found["before"]["scores"]
    assert max(layer["logit_change"] for layer in width["layers"]) < 1e-4
    assert {layer["error"] for layer in width["layers"]} == {0.0}


def test_half_of_queries_and_keys_do_where_attention_is_all(invoke):
    """Eight layers that have learned to find a leaf of a tree, which nothing but attention can do."""
    options = ("--preset", "sums", "--norm", "none", "--hidden", 8, "--heads", 4, "--select", "train_score")
    trained = ("train", "--dataset", "trees:2", "--model", "gt", "--layers", 8, "--epochs", 100, *options, *QUIET)
    run = json.loads(invoke(*trained)[1])["run_id"]
    for fit in ("weights", "data"):
        found = json.loads(invoke("compress", run, "--shared-dim", 14, "--fit", fit, "--json")[1])
        before, uniform, (half,) = found["before"], found["uniform"], found["widths"]
        assert half["query_key_parameters"] <= before["query_key_parameters"] / 2
        assert uniform["scores"]["train"] < 0.5 < 0.95 < before["scores"]["train"]
        assert half["scores"]["train"] >= before["scores"]["train"] - 0.01


def test_several_widths_are_a_curve(invoke, run, tmp_path):
    code, out, err = invoke("compress", run, "--shared-dim", "9,3,6", "--csv", "curve.csv")
    assert code == 0 and "Written: curve.csv" in err
    for words in ("heads apart", "uniform attention", "largest error", "query and key"):
        assert words in out
    with (tmp_path / "curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["shared_dim"] for row in rows] == ["", "0", "3", "6", "9"]
    # (2 F + H) D̃ in three layers; the spread of widths is what warm starts go over.
    assert [int(row["query_key_parameters"]) for row in rows] == [864, 0, *(3 * 27 * width for width in (3, 6, 9))]
    errors = [float(row["largest_error"]) for row in rows[2:]]
    assert errors == sorted(errors, reverse=True)
    assert {row["metric"] for row in rows} == {"accuracy"}


def test_for_people_there_are_a_table_a_summary_and_the_next_command(invoke, run):
    code, out, err = invoke("compress", run, "--shared-dim", 6)
    assert code == 0
    for words in ("relative error", "largest change of a logit", "6 of 12", "864 → 486 (-43.8%)", "test accuracy"):
        assert words in out
    assert err.splitlines()[-1] == f"  lipgnn compress {run} --shared-dim 6 -o shared-6.safetensors"
    err = invoke("compress", run, "--shared-dim", 6, "--finetune", 2, "--device", "cpu")[2]
    assert err.endswith(f"  lipgnn compress {run} --shared-dim 6 -o shared-6.safetensors --finetune 2 --device cpu\n")
    code, _, err = invoke("compress", run, "--shared-dim", 6, "-o", "small.safetensors")
    assert err.splitlines()[-2:] == ["  lipgnn evaluate small.safetensors", "  lipgnn diagnose small.safetensors"]


def test_the_least_width_within_an_error(invoke, run):
    found = json.loads(invoke("compress", run, "--max-error", 0.3, "--json")[1])["widths"][0]
    assert max(layer["error"] for layer in found["layers"]) <= 0.3
    assert 0 < found["shared_dim"] < 12
    assert json.loads(invoke("compress", run, "--max-error", 1e-9, "--json")[1])["widths"][0]["shared_dim"] == 12


def test_another_data_set_of_the_same_shape(invoke, run, tmp_path):
    from lipgnn.datasets import read, write_npz

    write_npz(read("planted"), tmp_path / "copy.npz")
    code, out, _ = invoke("compress", run, "--shared-dim", 6, "--dataset", "copy.npz", "--json")
    assert (code, json.loads(out)["dataset"]) == (0, "copy")
    code, _, err = invoke("compress", run, "--shared-dim", 6, "--dataset", "cora")
    assert code == 4 and "32 features and 4 classes" in err


@pytest.mark.parametrize(
    "arguments, words",
    [
        ((), "got neither"),
        (("--shared-dim", 4, "--max-error", 0.1), "got both"),
        (("--shared-dim", 0), "positive whole number"),
        (("--shared-dim", -3), "positive whole number"),
        (("--shared-dim", "4,,8"), "positive whole number"),
        (("--shared-dim", "٣"), "positive whole number"),
        (("--shared-dim", "9" * 5000), "positive whole number"),
        (("--shared-dim", 13), "at most heads × hidden = 12"),
        (("--shared-dim", "4,13"), "at most heads × hidden = 12"),
        (("--shared-dim", "4,8", "-o", "x.safetensors"), "one width"),
        (("--max-error", 0), "between 0 and 1"),
        (("--max-error", "nan"), "between 0 and 1"),
        (("--shared-dim", 4, "-o", "nowhere/x.safetensors"), "no folder"),
        (("--shared-dim", 4, "--csv", "results"), "is a folder"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_for_is_refused(refused, run, arguments, words):
    refused(2, words, run, *arguments)


def test_the_model_itself_is_not_replaced(refused, run):
    refused(2, "is the model that is to be compressed", run, "--shared-dim", 4, "-o", model_of(run))


def test_a_model_that_is_compressed_already_is_refused(invoke, refused, run):
    invoke("compress", run, "--shared-dim", 4, "-o", "small.safetensors")
    refused(2, "share queries and keys already", "small.safetensors", "--shared-dim", 2)


def test_a_model_without_queries_and_keys_is_refused(invoke, refused):
    gat = json.loads(invoke(*RUN, *QUIET, "--model", "gat")[1])["run_id"]
    refused(2, "layers of model 'gat' have none", gat, "--shared-dim", 4, "-o", "x.safetensors")


def test_weight_norms_are_refused(invoke, refused):
    bounded = json.loads(invoke(*RUN, *QUIET, "--weight-norm", "cap:1")[1])["run_id"]
    refused(2, "cannot keep these bounds", bounded, "--shared-dim", 4)


def test_codes_of_edge_types_are_refused(invoke, refused, tmp_path):
    (tmp_path / "nodes.csv").write_text("id,label,split,f\na,0,train,1\nb,1,train,2\nc,0,val,3\nd,1,test,1\n")
    (tmp_path / "edges.csv").write_text("source,target,type\na,b,road\nb,c,rail\nc,d,road\n")
    small = ("--layers", 2, "--hidden", 2, "--heads", 2, "--epochs", 2)
    typed = json.loads(invoke("train", "--dataset", tmp_path, "--model", "gt", *small, *QUIET)[1])["run_id"]
    refused(2, "codes of edge types", typed, "--shared-dim", 2)


def test_a_damaged_file_is_refused(refused, run, tmp_path):
    whole = (tmp_path / model_of(run)).read_bytes()
    for name, content in {"half": whole[: len(whole) // 2], "none": b"", "text": b"no model at all"}.items():
        (tmp_path / name).write_bytes(content)
        refused(4, "Cannot use the model file", name, "--shared-dim", 4, "-o", "x.safetensors")


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"hidden": 5}, "is (12, 12), not (15, 15)"),
        ({"model": "gat", "skip": "own"}, "missing"),
        ({"shared_dim": 4}, "shared_dim"),
    ],
    ids=str,
)
def test_a_spec_that_contradicts_the_weights_is_refused(refused, run, tmp_path, changes, words):
    with safe_open(tmp_path / model_of(run), framework="pt") as file:
        described = json.loads(file.metadata()["lipgnn"])
    described["spec"] |= changes
    weights = load_file(tmp_path / model_of(run))
    save_file(weights, tmp_path / "liar.safetensors", metadata={"lipgnn": json.dumps(described)})
    refused(4, words, "liar.safetensors", "--shared-dim", 4, "-o", "x.safetensors")


def test_a_compressed_file_whose_width_is_another_is_refused(invoke, run, tmp_path):
    invoke("compress", run, "--shared-dim", 4, "-o", "small.safetensors")
    with safe_open(tmp_path / "small.safetensors", framework="pt") as file:
        described = json.loads(file.metadata()["lipgnn"])
    described["spec"]["shared_dim"] = 5
    weights = load_file(tmp_path / "small.safetensors")
    save_file(weights, tmp_path / "liar.safetensors", metadata={"lipgnn": json.dumps(described)})
    code, out, err = invoke("evaluate", "liar.safetensors")
    assert (code, out) == (4, "") and "not (3, 5)" in err


def test_a_full_disk_leaves_nothing(invoke, run, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    code, out, err = invoke("compress", run, "--shared-dim", 4, "-o", "small.safetensors")
    assert (code, out) == (1, "") and "No space left" in err
    assert not list(tmp_path.glob("*.safetensors")) and not list(tmp_path.glob(".tmp-*"))


def test_a_compressed_network_can_be_trained_on(invoke, run):
    arguments = ("compress", run, "--shared-dim", 4, "--finetune", 3, "-o", "small.safetensors", "--json")
    code, out, _ = invoke(*arguments)
    found = json.loads(out)
    trained = found["finetuned"]
    assert code == 0 and trained["epochs_run"] == 3
    assert (trained["head_sharing"], trained["shared_dim"]) == ("collab", 4)
    scores = json.loads(invoke("evaluate", "small.safetensors", "--json")[1])["accuracy"]
    assert (scores["val"], scores["test"]) == (trained["val_score"], trained["test_score"])
    assert trained["val_loss"] <= _first_line(trained["run_id"])["val_loss"]
    again = json.loads(invoke(*arguments)[1])["finetuned"]
    assert again["run_id"] == trained["run_id"]


def _first_line(run):
    with open(f"results/runs/{run}/log.jsonl") as file:
        line = json.loads(file.readline())
    assert line["epoch"] == 0
    return line


def test_people_are_told_what_came_of_training_on(invoke, run):
    code, out, err = invoke("compress", run, "--shared-dim", 4, "--finetune", 2)
    assert code == 0
    assert "trained on" in out and " of 2, run " in out
    assert "epoch 2/2" in err


def test_a_compressed_file_is_what_a_run_can_start_from(invoke, run):
    invoke("compress", run, "--shared-dim", 4, "-o", "small.safetensors")
    code, out, _ = invoke("train", "--from", "small.safetensors", "--epochs", 2, "--json")
    result = json.loads(out)
    assert code == 0
    assert (result["head_sharing"], result["shared_dim"], result["epochs_run"]) == ("collab", 4, 2)


def test_one_width_is_trained_on(refused, run):
    refused(2, "--finetune takes the model of one width, got several: 4,8", run, "--shared-dim", "4,8", "--finetune", 2)
