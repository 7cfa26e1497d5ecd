import csv
import json

import pytest
from toy_tracker import plug_in

from lipgnn.results.store import Store

GRID = ("sweep", "--dataset", "planted", "--hidden", 2, "--heads", 2, "--layers", "1,2", "--norm", "none,lip")
GRID += ("--seeds", "0-1", "--epochs", 3)


@pytest.fixture
def computed(monkeypatch):
    """Runs are computed in this process, by the function the workers call; gives the list of them."""
    from lipgnn.sweep.engines.events import Ended
    from lipgnn.sweep.engines.local import LocalEngine
    from lipgnn.sweep.worker import compute

    runs = []

    def run(self, pending, should_stop):
        for planned in pending:
            if should_stop():
                return
            message = compute(self.orders.request(planned), should_stop=should_stop)
            runs.append(planned)
            yield Ended(0, planned, message["status"], message["reason"], message["result"])

    monkeypatch.setattr(LocalEngine, "run", run)
    return runs


def test_a_preset_follows_the_depth_of_every_run_and_is_not_for_studies(invoke, computed):
    small = ("--dataset", "planted", "--hidden", 2, "--heads", 2, "--epochs", 1)
    assert invoke("sweep", *small, "--layers", "2,3", "--preset", "deep")[0] == 0
    assert [(planned.spec.layers, planned.spec.weight_norm) for planned in computed] == [(2, "fix:4/L"), (3, "fix:4/L")]
    code, _, err = invoke("sweep", "--study", "first", "--preset", "deep")
    assert code == 2 and "takes no preset" in err


def test_a_dry_run_shows_the_plan_and_writes_nothing(invoke, tmp_path):
    code, out, err = invoke(*GRID, "--dry-run")
    assert code == 0
    assert out.count("to do") == out.count("0–1") == 4
    assert "8 runs: 8 to do. 8 would run" in err
    assert not (tmp_path / "results").exists()


def test_a_misspelt_value_is_refused_before_anything_is_computed(invoke, computed, tmp_path):
    code, _, err = invoke("sweep", "--dataset", "planted", "--layers", 2, "--norm", "none,lipp", "--epochs", 2)
    assert code == 2 and "Unknown norm 'lipp'" in err and "Did you mean 'lip'" in err
    assert computed == [] and not (tmp_path / "results").exists()


def test_one_run_is_no_plural(invoke):
    grid = ("sweep", "--dataset", "planted", "--layers", 2, "--model", "gat,gcn", "--norm", "lip")
    _, _, err = invoke(*grid, "--dry-run")
    assert "1 run: 1 to do." in err and "1 combination is left out: Norm 'lip' acts" in err


def test_a_dry_run_as_json_has_every_cell(invoke):
    plan = json.loads(invoke(*GRID, "--dry-run", "--json")[1])
    assert (plan["planned"], plan["to do"], len(plan["cells"])) == (8, 8, 8)
    assert {planned["norm"] for planned in plan["cells"]} == {"none", "lip"}


def test_the_same_command_again_runs_nothing_and_says_so(invoke, computed, tmp_path):
    code, out, err = invoke(*GRID)
    assert code == 0
    assert len(computed) == 8
    assert "[8/8] done" in err
    assert len((tmp_path / "results" / "results.csv").read_text().splitlines()) == 9
    code, out, err = invoke(*GRID, "--json")
    assert code == 0
    assert len(computed) == 8
    assert "Nothing to do" in err
    summary = json.loads(out)
    assert {key: summary[key] for key in ("planned", "done", "ran", "failed", "skipped")} == {
        "planned": 8,
        "done": 8,
        "ran": 0,
        "failed": 0,
        "skipped": 8,
    }


def test_only_what_is_missing_runs_when_the_grid_grows(invoke, computed):
    invoke(*GRID, "-q")
    invoke(*GRID, "--seeds", "0-2", "-q")
    assert [planned.spec.seed for planned in computed[8:]] == [2] * 4


def test_max_runs_and_shuffle(invoke, computed):
    invoke(*GRID, "--max-runs", 3, "-q")
    assert len(computed) == 3
    invoke(*GRID, "--shuffle", "-q")
    assert len({planned.run_id for planned in computed}) == 8


def test_force_computes_everything_again(invoke, computed):
    invoke(*GRID, "-q")
    invoke(*GRID, "--force", "-q")
    assert len(computed) == 16


def test_failures_are_printed_exit_3_and_retried_on_request(invoke, computed, monkeypatch):
    def failing(self):
        if self.spec.seed == 1 and self.spec.norm == "lip":
            raise RuntimeError("no luck [/today]")
        return real(self)

    from lipgnn.training.state import Training

    real = Training.step
    with monkeypatch.context() as patch:
        patch.setattr(Training, "step", failing)
        code, _, err = invoke(*GRID)
    assert code == 3
    assert err.count("no luck [/today]") == 2
    assert "--retry failed" in err
    computed.clear()
    assert invoke(*GRID)[0] == 0
    assert computed == []
    assert invoke(*GRID, "--retry", "failed", "-q")[0] == 0
    assert len(computed) == 2


def test_a_diverged_run_is_a_result_and_retried_on_request(invoke, computed):
    wild = (*GRID, "--layers", 40, "--lr", 1000, "--activation", "none", "--residual", "identity", "--norm", "none")
    code, _, err = invoke(*wild, "--epochs", 50, "--seeds", 0)
    assert code == 0
    assert "diverged" in err
    computed.clear()
    invoke(*wild, "--epochs", 50, "--seeds", 0, "-q")
    assert computed == []
    invoke(*wild, "--epochs", 50, "--seeds", 0, "--retry", "diverged", "-q")
    assert len(computed) == 1


def test_fail_fast_stops(invoke, computed, monkeypatch):
    from lipgnn.training.state import Training

    def failing(self):
        raise RuntimeError("no")

    monkeypatch.setattr(Training, "step", failing)
    assert invoke(*GRID, "--fail-fast", "-q")[0] == 3
    assert len(computed) < 8


def test_a_file_a_study_and_settings(invoke, tmp_path):
    (tmp_path / "grid.toml").write_text('[grid]\nlayers = [1, 2, 3]\n[fixed]\ndataset = "planted"\nepochs = 9\n')
    plan = json.loads(
        invoke("sweep", "grid.toml", "--set", "lr=0.1,0.2", "--set", "epochs=4", "--dry-run", "--json")[1]
    )
    assert {(c["layers"], c["lr"], c["epochs"]) for c in plan["cells"]} == {
        (layers, lr, 4) for layers in (1, 2, 3) for lr in (0.1, 0.2)
    }
    study = json.loads(invoke("sweep", "--study", "first", "--dry-run", "--json")[1])
    assert study["planned"] == 10


STUDY = """
title = "A trial"
record = ["gradients"]
[grid]
norm = ["none", "lip"]
[fixed]
dataset = "planted"
hidden = 2
heads = 2
epochs = 3
[[small]]
[small.grid]
layers = [1, 2]
[[paper]]
[paper.grid]
layers = [1, 2, 3]
seed = [0, 1, 2]
[protocol.one]
features = "raw"
[protocol.two]
features = "row"
"""


@pytest.fixture
def trial(monkeypatch, tmp_path):
    """A study named trial: 4 runs small, 18 by the paper, by either of two protocols."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    (folder / "trial.toml").write_text(STUDY)
    monkeypatch.setattr("lipgnn.spec.study.FOLDER", folder)
    return ("sweep", "--study", "trial")


def test_a_clone_with_the_archived_rows_computes_only_the_rest(invoke, computed, trial, tmp_path):
    """Part of the study in one store; the clone has that file alone, computes the others, and then has all rows."""
    assert invoke(*trial, "--layers", 1, "--results", "one")[0] == 0
    assert len(computed) == 2
    kept = tmp_path / "one" / "studies" / "trial.csv"
    (tmp_path / "two" / "studies").mkdir(parents=True)
    clone = tmp_path / "two" / "studies" / "trial.csv"
    clone.write_bytes(kept.read_bytes())
    computed.clear()
    plan = json.loads(invoke(*trial, "--results", "two", "--dry-run", "--json")[1])
    assert (plan["done (archived)"], plan["to do"]) == (2, 2)
    code, out, _ = invoke(*trial, "--results", "two")
    assert (code, [planned.spec.layers for planned in computed]) == (0, [2, 2])
    assert "have a result  4" in out
    assert "trial.csv, 4 rows" in out
    order = [(line["norm"], line["layers"]) for line in csv.DictReader(clone.read_text().splitlines())]
    assert order == [("none", "1"), ("none", "2"), ("lip", "1"), ("lip", "2")]
    assert set(kept.read_text().splitlines()) <= set(clone.read_text().splitlines())
    computed.clear()
    invoke(*trial, "--results", "two", "-q")
    assert computed == []
    invoke(*trial, "--results", "two", "--layers", 1, "--force", "-q")
    assert len(computed) == 2
    assert len(clone.read_text().splitlines()) == 5


def test_options_beside_the_study_are_computed_and_not_archived(invoke, computed, trial, tmp_path):
    code, _, err = invoke(*trial, "--epochs", 2, "--layers", 1, "-q")
    assert (code, len(computed)) == (0, 2)
    assert "  lipgnn report --sweep last\n" in err
    assert not (tmp_path / "results" / "studies").exists()


def test_a_study_that_breaks_off_archives_what_it_has(invoke, computed, trial, tmp_path, monkeypatch):
    from cli.sweep_view import SweepView

    def broken(self, event):
        if len(computed) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(SweepView, "show", broken)
    assert invoke(*trial, "-q")[0] == 130
    assert len((tmp_path / "results" / "studies" / "trial.csv").read_text().splitlines()) == 3


def test_runs_record_what_the_study_says(invoke, computed, trial, tmp_path):
    invoke(*trial, "--layers", 2, "--norm", "lip", "-q")
    assert len(list((tmp_path / "results" / "runs").glob("*/gradients.safetensors"))) == 1


def test_a_dry_run_tells_both_scales_and_reads_the_protocol(invoke, computed, trial):
    invoke(*trial, "--max-runs", 1, "-q")
    err = invoke(*trial, "--dry-run")[2]
    assert "Study trial (small, one): A trial" in err
    assert "4 runs: 1 done, 3 to do. 3 would run" in err
    assert "Scale paper: 18 runs: 1 done, 17 to do. 17 would run, one after the other in " in err
    assert "–" not in err
    plan = json.loads(invoke(*trial, "--scale", "paper", "--protocol", "two", "--dry-run", "--json")[1])
    assert {planned["features"] for planned in plan["cells"]} == {"row"}
    assert (plan["planned"], plan["scales"]["small"]["planned"]) == (18, 4)


def test_a_dry_run_shows_runs_whose_data_is_not_here(invoke, trial):
    plan = json.loads(invoke(*trial, "--dataset", "texas", "--dry-run", "--json")[1])
    assert (plan["no data"], plan["unknown"]) == (4, 4)
    assert invoke(*trial, "--dataset", "texas")[0] == 4


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("--layers", "5-2"), "empty range"),
        (("--set", "layers"), "KEY=VALUES"),
        (("--set", "layrs=2"), "Did you mean 'layers'"),
        (("--retry", "faild"), "Did you mean 'failed'"),
        (("--study", "frist"), "Did you mean 'first'"),
        (("--study", "first", "--scale", "small"), "Study 'first' has no scales."),
        (("--study", "missing", "--scale", "smal"), "Did you mean 'small'"),
        (("--study", "missing", "--protocol", "author"), "Did you mean 'authors'"),
        (("--scale", "small"), "choose within a study"),
        (("none.toml",), "none.toml"),
        (("none.toml", "--study", "first"), "not both"),
        (("--jobs", 0), "--jobs"),
        (("--model", "gcn", "--norm", "lip"), "No combination"),
    ],
)
def test_wrong_use_is_exit_2(invoke, arguments, message):
    code, _, err = invoke("sweep", *arguments)
    assert code == 2
    assert message in err


def test_missing_data_is_exit_4_before_anything_runs(invoke, tmp_path):
    assert invoke("sweep", "--dataset", "planted,texas")[0] == 4
    assert not (tmp_path / "results").exists()


def test_planning_does_not_import_torch(program, tmp_path):
    import subprocess
    import sys

    code = "import sys; from cli.main import run; run(sys.argv[1:]); sys.exit('torch' in sys.modules)"
    arguments = [str(word) for word in (*GRID, "--dry-run")]
    subprocess.run([sys.executable, "-c", code, *arguments], cwd=tmp_path, check=True, capture_output=True)


def test_the_real_thing_in_processes(lipgnn, tmp_path):
    """Two workers, the grid of the README, then the same results by `train`."""
    lipgnn(*GRID, "--jobs", 2, check=0)
    results = Store(tmp_path / "results").results()
    assert [row["status"] for row in results] == ["done"] * 8
    one = lipgnn(*results[0]["command"].split()[1:], "--results", "alone", "--json", "-q", check=0, OMP_NUM_THREADS="1")
    alone = json.loads(one.stdout)
    assert {k: alone[k] for k in ("run_id", "val_score", "test_score", "val_loss", "max_grad_norm")} == {
        k: results[0][k] for k in ("run_id", "val_score", "test_score", "val_loss", "max_grad_norm")
    }


def test_splits_are_swept_by_range_and_reported_over(invoke):
    grid = ("--dataset", "minesweeper:8", "--split", "0-2", "--norm", "none,lip", "--layers", 1, "--epochs", 2)
    assert invoke("sweep", *grid, "-q")[0] == 0
    code, out, _ = invoke("report", "results", "--over", "split", "--compare", "none")
    assert code == 0
    assert "over split 0–2; n = 3" in out and "test ROC-AUC in %" in out
    assert "paired difference over common split" in out and "n = 3" in out
    code, _, err = invoke("report", "results")
    assert code == 2 and "--over seed,split" in err


def test_a_sweep_can_be_named_tagged_and_reported_alone(invoke, computed):
    small = ("--dataset", "planted", "--hidden", 2, "--heads", 2, "--layers", 3)
    assert invoke("train", *small, "--epochs", 2, "--name", "first-try", "--tag", "toy")[0] == 0
    code, _, err = invoke(*GRID, "--name", "grid", "--tag", "paper")
    assert code == 0 and "lipgnn report --sweep last" in err
    # The run beside the grid was trained for another time.
    code, _, err = invoke("report", "--rows", "norm", "--cols", "layers")
    assert code == 2 and "join different experiments: epochs (2, 3)" in err
    for words in (("--sweep", "last"), ("--sweep", "grid"), ("--tag", "paper")):
        code, out, _ = invoke("report", "--rows", "norm", "--cols", "layers", "--json", *words)
        assert (code, sum(cell["n"] for cell in json.loads(out)["cells"])) == (0, 8)
    runs = json.loads(invoke("runs", "--tag", "paper", "--json")[1])
    assert {run["run_id"] for run in runs} == {planned.run_id for planned in computed}
    assert json.loads(invoke("evaluate", "first-try", "--json")[1])
    code, _, err = invoke("report", "--tag", "nobody")
    assert code == 2 and "with tag 'nobody'" in err


@pytest.mark.parametrize("words", [("--name", "last"), ("--name", "a b"), ("--tag", "..")])
def test_a_label_that_is_none_stops_a_sweep_before_it_begins(invoke, computed, tmp_path, words):
    assert invoke(*GRID, *words)[0] == 2
    assert computed == [] and not (tmp_path / "results").exists()


def test_runs_of_a_sweep_are_logged_and_what_is_missing_is_said_once(invoke, computed, monkeypatch):
    made = plug_in(monkeypatch)
    code, _, err = invoke(*GRID[:-4], "--epochs", 1, "--log", "toy,absent")
    assert code == 0 and len(made) == len(computed) == 4
    assert err.count("is not installed") == 1
