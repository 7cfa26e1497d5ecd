import csv
import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import numpy as np
import pytest
from toy_tracker import plug_in

from lipgnn.spec.run import FIELDS

RUN = ("train", "--dataset", "planted", "--layers", 2, "--hidden", 2, "--heads", 2, "--epochs", 12)


def test_json_is_one_object_with_the_promised_keys(invoke):
    code, out, _ = invoke(*RUN, "--json")
    result = json.loads(out)
    assert code == 0
    promised = "run_id status test_score val_score last_test_score best_epoch seconds_per_epoch parameters"
    assert set(promised.split()) <= set(result)
    assert result["status"] == "done"
    assert out.count("\n") == 1


def test_the_summary_has_the_numbers_and_the_next_commands(invoke):
    result = json.loads(invoke(*RUN, "--json")[1])
    code, out, err = invoke(*RUN)
    assert code == 0
    for key in ("test_score", "val_score", "train_score", "last_test_score"):
        assert f"{result[key]:.3f}" in out
    assert result["run_id"] in out
    assert "already done" in err
    assert f"lipgnn evaluate {result['run_id']}" in err
    assert "--norm none" in err


def test_progress_goes_to_stderr_and_quiet_silences_it(invoke):
    _, _, err = invoke(*RUN)
    assert "12/12" in err and "grad " in err
    code, out, err = invoke(*RUN, "--seed", 1, "-q", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["seed"] == 1


def test_verbose_shows_every_epoch_and_every_source(invoke):
    _, _, err = invoke(*RUN, "-v")
    assert sum(line.startswith("epoch ") for line in err.splitlines()) == 12
    assert "layers = 2  (flag)" in err
    assert "kappa = 4.0  (built-in)" in err


def test_the_device_and_the_reason_are_told(invoke):
    assert "cpu (" in invoke(*RUN)[2]
    assert "cpu (asked for)" in invoke(*RUN, "--device", "cpu", "--force")[2]


def test_the_stack_is_told_where_it_is_not_the_usual(invoke):
    _, out, err = invoke(*RUN, "--stack", "reversible", "--seed", 1)
    assert "2 layers (reversible stack)" in err and "2 layers (reversible stack)" in out
    _, out, err = invoke(*RUN, "--recompute-every", 1, "--seed", 2)
    assert "2 layers (checkpoint every 1)" in err and "2 layers (checkpoint every 1)" in out
    _, out, err = invoke(*RUN, "--seed", 3)
    assert "2 layers, norm" in err and "2 layers, norm" in out and "Expected peak memory" not in err


def test_a_reversible_stack_with_checkpoints_is_refused(invoke):
    code, _, err = invoke(*RUN, "--stack", "reversible", "--recompute-every", 2)
    assert code == 2
    assert "keeps no activations" in err and "--recompute-every 0" in err


def test_scarce_memory_is_told_before_the_run(invoke, monkeypatch):
    import lipgnn.training.loop

    monkeypatch.setattr(lipgnn.training.loop, "free_memory", lambda device: 1)
    _, out, err = invoke(*RUN, "--json")
    assert json.loads(out)["recompute_every"] == "1"
    assert "Expected peak memory 0." in err and "0.00 GB are free" in err
    assert "--recompute-every 1 is used" in err and "--stack reversible" in err
    assert "Expected" not in invoke(*RUN, "-q", "--force")[2]


def test_print_config_is_a_run_of_its_own(invoke, tmp_path):
    code, out, _ = invoke(*RUN, "--print-config")
    assert code == 0
    assert not (tmp_path / "results").exists()
    own = [name for name, field in FIELDS.items() if "task" not in field.metadata]
    assert [line.split(" = ")[0] for line in out.splitlines() if not line.startswith("#")] == own
    (tmp_path / "run.toml").write_text(out)
    from_file = json.loads(invoke("train", "--config", "run.toml", "--json", "-q")[1])
    from_flags = json.loads(invoke(*RUN, "--json", "-q")[1])
    assert from_file["run_id"] == from_flags["run_id"]


def test_a_preset_is_shown_by_print_config(invoke):
    _, text, _ = invoke("train", "--layers", 128, "--preset", "deep", "--print-config")
    assert "# preset deep" in text and "layers = 128 # flag" in text
    code, out, err = invoke("train", "--preset", "depe")
    assert (code, out) == (2, "") and "Did you mean 'deep'?" in err


def test_a_variable_sets_an_option_and_a_mistyped_one_is_told(invoke, monkeypatch):
    monkeypatch.setenv("LIPGNN_SEED", "5")
    monkeypatch.setenv("LIPGNN_SEEED", "6")
    code, out, err = invoke(*RUN, "--json", "-q")
    assert (code, json.loads(out)["seed"]) == (0, 5)
    assert "LIPGNN_SEEED is not a variable of lipgnn" in err


def test_force_computes_anew(invoke):
    invoke(*RUN)
    assert "12/12" in invoke(*RUN, "--force")[2]


def test_results_csv_has_one_row_a_run(invoke, tmp_path):
    for seed in (0, 1):
        invoke(*RUN, "--seed", seed, "-q")
    rows = list(csv.DictReader((tmp_path / "results" / "results.csv").read_text().splitlines()))
    assert [row["seed"] for row in rows] == ["0", "1"]


def test_a_diverged_run_is_exit_1_with_a_gentler_command(invoke):
    wild = (*RUN, "--layers", 40, "--lr", 1000, "--norm", "none", "--activation", "none", "--residual", "identity")
    code, out, err = invoke(*wild)
    assert code == 1
    assert "diverged" in out and "not finite" in out
    assert "--lr 200" in err
    assert invoke(*wild)[0] == 1


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may write anywhere")
def test_a_folder_without_permission_is_exit_2(program, tmp_path):
    (tmp_path / "results").mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    # Root may write anywhere, unless it gives up the right to.
    humble = ["setpriv", "--bounding-set", "-dac_override"] if os.geteuid() == 0 else []
    done = subprocess.run([*humble, *program, *map(str, RUN)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "Cannot write to 'results'" in done.stderr


def test_a_results_folder_that_is_a_file_is_exit_2_before_training(invoke, tmp_path):
    (tmp_path / "results").write_text("mine")
    code, _, err = invoke(*RUN)
    assert code == 2
    assert "'results' is a file" in err and "epoch" not in err
    assert (tmp_path / "results").read_text() == "mine"


def test_damaged_data_is_exit_4_and_nothing_is_written(invoke, tmp_path):
    (tmp_path / "x[red].npz").write_bytes(b"PK\x03\x04 not really")
    code, out, err = invoke("train", "--dataset", "x[red].npz")
    assert (code, out) == (4, "")
    assert "x[red].npz" in err
    assert os.listdir(tmp_path) == ["x[red].npz"]


def test_a_damaged_checkpoint_is_refused_and_kept(invoke, tmp_path, monkeypatch):
    import lipgnn.training.loop

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(lipgnn.training.loop, "row_of", stop)
        assert invoke(*RUN, "--save-every", 3)[0] == 130
    (path,) = (tmp_path / "results" / "runs").glob("*/last.safetensors")
    path.write_bytes(path.read_bytes()[:-5])
    code, _, err = invoke(*RUN)
    assert code == 4
    assert "--force" in err
    assert invoke(*RUN, "--force")[0] == 0


@pytest.fixture
def ogb_evaluate():
    """OGB's evaluator on a run's model: ogb_evaluate(run folder, data, "ogbn-arxiv") -> the metric on the test part."""
    import warnings

    import torch

    from lipgnn.tasks.saved import load_model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ogb.nodeproppred import Evaluator

    def evaluate(folder, data, name):
        saved = load_model(folder / "best.safetensors")
        with torch.no_grad():
            logits = saved.network(data.graph, data.features)[data.test_mask]
        labels = data.labels[data.test_mask]
        if name == "ogbn-arxiv":
            logits, labels = logits.argmax(dim=1, keepdim=True), labels[:, None]
        (value,) = Evaluator(name).eval({"y_true": labels, "y_pred": logits}).values()
        return value

    return evaluate


@pytest.mark.parametrize("options", [(), ("--batch-size", "1024"), ("--batch-size", "7", "--fanout", "2")])
def test_a_folder_of_ogb_is_trained_on_at_once_and_in_batches(invoke, tmp_path, write_ogb, ogb_evaluate, options):
    from lipgnn.datasets import load

    folder = write_ogb(tmp_path / "ogbn_arxiv")
    ways = ("--layers", "10", "--norm", "lip", "--epochs", "3", "--features", "raw", *options)
    code, out, err = invoke("train", "--dataset", folder, *ways, "--json")
    assert code == 0, err
    result = json.loads(out)
    value = ogb_evaluate(tmp_path / "results" / "runs" / result["run_id"], load(folder), "ogbn-arxiv")
    assert result["test_score"] == pytest.approx(value)


@pytest.mark.parametrize("options", [(), ("--batch-size", "16")])
def test_several_labels_a_node_are_measured_by_roc_auc(invoke, tmp_path, write_ogb, ogb_evaluate, options):
    import numpy as np

    from lipgnn.datasets import load

    folder = write_ogb(tmp_path / "several", labels=np.random.RandomState(0).randint(0, 2, size=(60, 112)))
    ways = ("--dataset", folder, "--layers", "2", "--epochs", "3", "--features", "raw", *options)
    code, out, err = invoke("train", *ways, "--json")
    assert code == 0, err
    result = json.loads(out)
    value = ogb_evaluate(tmp_path / "results" / "runs" / result["run_id"], load(folder), "ogbn-proteins")
    assert result["test_score"] == pytest.approx(value)
    assert "test ROC-AUC" in invoke("train", *ways)[1]
    code, out, err = invoke("evaluate", result["run_id"])
    assert code == 0, err
    assert "test ROC-AUC" in out
    assert "Confusion" not in out


@pytest.mark.parametrize(
    "model, norm", [("gat", "lip"), ("gat", "pair"), ("gcn", "layer"), ("gin", "layer"), ("ggnn", "none")]
)
def test_trees_are_trained_on_and_their_model_evaluated(invoke, model, norm):
    ways = ("--dataset", "trees:2:4", "--model", model, "--norm", norm, "--epochs", "3", "--eval-every", "2")
    code, out, err = invoke("train", *ways, "--json")
    assert code == 0, err
    result = json.loads(out)
    assert (result["epochs_run"], result["select"]) == (3, "train_score")
    code, out, err = invoke("evaluate", result["run_id"], "--json")
    assert code == 0, err
    assert json.loads(out)["accuracy"]["train"] == pytest.approx(result["train_score"])


def test_gat_learns_the_trees_of_radius_two(invoke):
    code, out, err = invoke("train", "--dataset", "trees:2:6", "--model", "gat", "--eval-every", "25", "--json")
    assert code == 0, err
    assert json.loads(out)["train_score"] == 1


def test_impossible_trees_are_exit_2_with_one_sentence(invoke):
    code, _, err = invoke("train", "--dataset", "trees:9")
    assert code == 2
    assert err.startswith("Error: 'trees:9' asks for trees of radius 9.")
    code, _, err = invoke("evaluate", "--dataset", "trees:2", "0")
    assert code == 2


def test_a_reversible_stack_is_not_sampled(invoke):
    code, _, err = invoke("train", "--dataset", "planted", "--stack", "reversible", "--batch-size", "8")
    assert code == 2
    assert "--batch-size 0" in err


def test_gradients_are_recorded_where_asked_and_a_run_without_them_says_so(invoke, tmp_path):
    recorded = json.loads(invoke(*RUN, "--record", "gradients", "--json", "-q")[1])
    assert list((tmp_path / "results").rglob("gradients.safetensors"))
    assert "already done; its" in invoke(*RUN, "--record", "gradients")[2]
    without = json.loads(invoke(*RUN, "--force", "--json", "-q")[1])
    assert without["run_id"] == recorded["run_id"]
    assert not list((tmp_path / "results").rglob("gradients.safetensors"))
    code, _, err = invoke(*RUN, "--record", "gradients")
    assert code == 0
    assert "computed without recording" in err and "--force computes it anew and records" in err


def test_a_run_that_recorded_less_than_is_asked_says_so(invoke):
    invoke(*RUN, "--record", "gradients", "-q")
    err = invoke(*RUN, "--record", "gradients", "--record", "similarity")[2]
    assert "computed without recording" in err


def test_only_what_can_be_recorded_is_taken(invoke):
    code, _, err = invoke(*RUN, "--record", "weights")
    assert code == 2
    assert "gradients" in err


GRID = ("train", "--dataset", "minesweeper:8", "--layers", 2, "--hidden", 2, "--heads", 2, "--epochs", 6)


def test_two_classes_are_measured_by_roc_auc_where_the_data_set_says_so(invoke):
    from sklearn.metrics import roc_auc_score

    from lipgnn.results.store import Store
    from lipgnn.tasks import load
    from lipgnn.tasks.saved import load_model

    code, out, _ = invoke(*GRID)
    assert code == 0 and "test ROC-AUC" in out and "accuracy" not in out
    result = json.loads(invoke(*GRID, "--json")[1])
    assert (result["metric"], result["split"], result["features"]) == ("roc-auc", "0", "raw")
    data = load("minesweeper:8", split="0")
    network = load_model(Store(Path("results")).find_model(result["run_id"])).network
    logits = network(data.graph, data.features).detach().double()
    for part, mask in data.split.parts.items():
        expected = roc_auc_score(data.labels_array[mask], (logits[:, 1] - logits[:, 0])[mask])
        assert result[f"{part}_score"] == pytest.approx(expected, abs=1e-12)
    # The epoch is chosen by it as well.
    log = [json.loads(line) for line in Path("results", "runs", result["run_id"], "log.jsonl").read_text().splitlines()]
    assert result["val_score"] == max(line["val_score"] for line in log)


@pytest.mark.parametrize(
    "metric, words", [("accuracy", "accuracy"), ("macro-f1", "macro-F1"), ("average-precision", "average precision")]
)
def test_another_metric_can_be_asked_for_and_is_in_the_row(invoke, metric, words):
    code, out, err = invoke(*GRID, "--metric", metric)
    assert code == 0 and f"test {words}" in out
    assert f"--metric {metric}" in err
    (row,) = csv.DictReader(Path("results", "results.csv").read_text().splitlines())
    assert row["metric"] == metric


def test_a_metric_of_two_classes_is_refused_for_more(invoke):
    code, _, err = invoke(*RUN, "--metric", "roc-auc")
    assert (
        code == 2
        and "is of two classes, and data set 'planted' has 4" in err
        and "--metric accuracy or macro-f1" in err
    )


def test_the_metric_of_a_file_is_known_once_it_is_read(invoke, tmp_path):
    from lipgnn.datasets import read, write_npz

    write_npz(read("planted"), tmp_path / "own.npz")
    arguments = ("train", "--dataset", "own.npz", "--layers", 1, "--epochs", 1, "--json")
    first = json.loads(invoke(*arguments)[1])
    assert first["metric"] == "accuracy"
    assert json.loads(invoke(*arguments, "--metric", "accuracy")[1])["run_id"] == first["run_id"]


def test_data_with_duplicates_is_warned_of_once(invoke, tmp_path, monkeypatch):
    from lipgnn.datasets import read, write_npz

    monkeypatch.setenv("LIPGNN_DATA", str(tmp_path))
    write_npz(read("planted"), tmp_path / "chameleon.npz")
    arguments = ("--dataset", "chameleon", "--split", "public", "--layers", 1, "--epochs", 1)
    code, _, err = invoke("train", *arguments)
    assert code == 0 and err.count("'chameleon-filtered' is without them") == 1
    code, _, err = invoke("sweep", *arguments, "--norm", "none,lip", "-q")
    assert code == 0 and err.count("'chameleon-filtered' is without them") == 1
    assert "chameleon" not in invoke("train", *arguments, "-q", "--seed", 5)[2].partition("Next")[0]


BAD_FILES = {
    "an object array": {"node_labels": np.array([None] * 12)},
    "masks that overlap": {"val_masks": np.ones((2, 12), bool)},
    "labels out of range": {"node_labels": np.array([0, 1, 99] * 4)},
    "edges transposed": {"edges": np.zeros((2, 5), int)},
    "masks of another shape": {"test_masks": np.zeros((2, 11), bool)},
    "features that are no numbers": {"node_features": np.full((12, 2), np.nan)},
}


@pytest.mark.parametrize("what", BAD_FILES)
def test_a_bad_file_is_refused_in_one_sentence(invoke, tmp_path, what):
    index = np.arange(12)
    masks = {
        f"{part}_masks": np.stack([chosen] * 2)
        for part, chosen in zip(("train", "val", "test"), (index < 6, index // 3 == 2, index > 8), strict=True)
    }
    good = {
        "node_features": np.eye(12, 2),
        "node_labels": index % 2,
        "edges": np.stack([index[1:], index[:-1]], axis=1),
    }
    np.savez(tmp_path / "good.npz", **good, **masks)
    assert invoke("train", "--dataset", "good.npz", "--split", 1, "--layers", 1, "--epochs", 1)[0] == 0
    np.savez(tmp_path / "bad.npz", **(good | masks | BAD_FILES[what]))
    code, out, err = invoke("train", "--dataset", "bad.npz", "--split", 1)
    assert (code, out) == (4, "")
    assert err.startswith(f"Error: Cannot use '{tmp_path / 'bad.npz'}': ") and len(err.strip().splitlines()) == 1


def test_a_run_goes_on_from_another_with_its_options(invoke):
    first = json.loads(invoke(*RUN, "--activation", "tanh", "--json")[1])
    code, out, _ = invoke("train", "--from", first["run_id"], "--epochs", 3, "--json")
    second = json.loads(out)
    assert code == 0
    assert (second["activation"], second["layers"], second["epochs"]) == ("tanh", 2, 3)
    assert second["start"].startswith("model:") and second["run_id"] != first["run_id"]


def test_options_of_a_model_are_shown_with_their_source(invoke):
    run = json.loads(invoke(*RUN, "--json")[1])["run_id"]
    code, out, _ = invoke("train", "--from", run, "--lr", 0.5, "--print-config")
    assert code == 0
    assert "lr = 0.5 # flag" in out
    assert "hidden = 2 # model " in out


@pytest.mark.parametrize("more", [("--start", "scratch"), ("--preset", "deep")])
def test_two_starts_are_refused(invoke, more):
    run = json.loads(invoke(*RUN, "--json")[1])["run_id"]
    code, _, err = invoke("train", "--from", run, *more)
    assert code == 2
    assert f"{' '.join(more)} says another" in err


def test_a_model_of_another_network_is_exit_2_with_what_differs(invoke):
    run = json.loads(invoke(*RUN, "--json")[1])["run_id"]
    code, _, err = invoke("train", "--from", run, "--layers", 3)
    assert code == 2
    assert "it has layers 2, and this run layers 3." in " ".join(err.split())


def test_types_of_edges_are_used_by_gt_and_others_are_told(invoke, tmp_path):
    (tmp_path / "nodes.csv").write_text("id,label,split,f\na,0,train,1\nb,1,train,2\nc,0,val,3\nd,1,test,1\n")
    (tmp_path / "edges.csv").write_text("source,target,type\na,b,road\nb,c,rail\nc,d,road\n")
    small = ("--layers", 2, "--hidden", 2, "--heads", 2, "--epochs", 2)
    code, _, err = invoke("train", "--dataset", tmp_path, "--model", "gat", *small)
    assert code == 0 and "have types, which layers of 'gat' do not tell apart; --model gt does." in err
    code, out, err = invoke("train", "--dataset", tmp_path, "--model", "gt", *small, "--json")
    assert code == 0 and "tell apart" not in err
    evaluated, out, _ = invoke("evaluate", json.loads(out)["run_id"], "--json")
    assert evaluated == 0


def test_a_run_is_logged_as_asked_and_its_result_is_what_it_would_be(invoke, monkeypatch):
    made = plug_in(monkeypatch)
    code, out, err = invoke(*RUN, "--log", "toy,absent", "--json")
    assert code == 0 and len(made[0].epochs) == 12
    assert err.count("Warning:") == 1
    assert 'Warning: Nothing is logged by absent, which is not installed: pip install "lipgnn[no_such_package]"' in err
    monkeypatch.setenv("LIPGNN_LOG", "toy")
    assert (
        json.loads(invoke(*RUN, "--json", "--force", "--log", "absent")[1])["test_score"]
        == json.loads(out)["test_score"]
    )
    assert len(made) == 1, "a flag beats the variable"
    assert "Warning: Nothing was logged, because this run was done before" in invoke(*RUN)[2]
    code, _, err = invoke(*RUN, "--log", "mlflw")
    assert code == 2 and "Unknown tracker 'mlflw'" in err and "Did you mean 'mlflow'?" in err


def test_more_epochs_go_on_and_the_screen_says_so(invoke):
    small = ("train", "--dataset", "planted", "--layers", 2, "--hidden", 2, "--heads", 2)
    short = json.loads(invoke(*small, "--epochs", 2, "--json", "-q")[1])
    code, out, err = invoke(*small, "--epochs", 4, "--json")
    assert (code, json.loads(out)["epochs_run"]) == (0, 4)
    assert f"Note: Run {short['run_id']} is the same run with 2 epochs, and this one goes on" in " ".join(err.split())
    assert "going on after epoch 2" in err
    err = invoke(*small, "--epochs", 4, "--schedule", "cosine", "--json")[2]
    assert "is the same run" not in err
    err = " ".join(invoke(*small, "--epochs", 5, "--schedule", "cosine", "--json")[2].split())
    assert "this one starts anew: its schedule cosine ends with the run" in err


def test_the_form_that_suits_the_features_is_said_and_kept(invoke, tmp_path):
    from lipgnn.datasets import read, write_npz

    write_npz(read("planted"), tmp_path / "mine.npz")
    code, out, err = invoke("train", "--dataset", tmp_path / "mine.npz", "--layers", 2, "--epochs", 1, "--json")
    result = json.loads(out)
    assert (code, result["features"]) == (0, "standard")
    assert "(--features standard)" in err and "--features standard" in result["command"]
    named = invoke("train", "--dataset", tmp_path / "mine.npz", "--layers", 2, "--epochs", 1, "--features", "standard")
    assert "already done" in named[2]
    assert invoke("evaluate", result["run_id"], "--json")[0] == 0
