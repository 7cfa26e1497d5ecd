"""The contracts, held to their word: a layer, norms, a format, a task and a figure are one class and one line each.

The toys of tests/support/plug_ins know nothing of each other and say nothing of themselves; `sitecustomize.py` beside
them is the line in a dictionary for each. Real processes train, evaluate, diagnose, sweep and report with them.
"""

import json
import os
from pathlib import Path

import pytest

PLUG_INS = Path(__file__).parent / "support" / "plug_ins"


@pytest.fixture
def plugged(lipgnn, tmp_path):
    """Run the program where the toys are known; a file in their format is at hand."""
    labels = " ".join(str(node % 2) for node in range(30))
    edges = "\n".join(f"{node} {(node + step) % 30}" for node in range(30) for step in (1, 7))
    (tmp_path / "ring.pairs").write_text(f"{labels}\n{edges}\n")
    path = os.pathsep.join(filter(None, [str(PLUG_INS), os.environ.get("PYTHONPATH")]))

    def run(*arguments, check=0):
        return lipgnn(*arguments, check=check, PYTHONPATH=path)

    return run


SMALL = ("--layers", 2, "--hidden", 4, "--heads", 2, "--epochs", 3)
USES = {
    "norms": ("--dataset", "planted", "--model", "gat", "--norm", "halved+tenth"),
    "layer": ("--dataset", "planted", "--model", "mean"),
    "format": ("--dataset", "ring.pairs", "--norm", "none"),
    "task": ("--dataset", "degrees:40", "--norm", "none"),
}


@pytest.mark.parametrize("use", USES)
def test_a_toy_trains_is_evaluated_and_diagnosed_and_nothing_is_promised_of_it(plugged, use):
    result = json.loads(plugged("train", *USES[use], *SMALL, "--json", "-q").stdout)
    assert (result["status"], result["metric"], result["epochs_run"]) == ("done", "accuracy", 3)
    evaluation = json.loads(plugged("evaluate", result["run_id"], "--json").stdout)
    assert evaluation["accuracy"]["test"] == pytest.approx(result["test_score"])
    # A task has a confusion matrix and a certificate only if it says so, and this one does not.
    assert (evaluation["confusion"] is None) == (use == "task")
    diagnosis = json.loads(plugged("diagnose", result["run_id"], "--json").stdout)
    assert len(diagnosis["layers"]) == 3 and diagnosis["layers"][1]["bound"] is None
    if use in ("norms", "layer"):
        assert "says no certified bound" in diagnosis["unbounded"]
    if use == "task":
        refused = plugged("evaluate", result["run_id"], "--certify", check=2)
        assert "A certificate is about which of several classes an item has." in refused.stderr


def test_toys_are_swept_by_child_processes_and_reported(plugged, tmp_path):
    grid = ("--dataset", "planted,degrees:40", "--model", "gat,mean", "--norm", "none,halved", "--seeds", "0-1")
    plan = plugged("sweep", *grid, *SMALL, "--dry-run").stderr
    # The layer has no attention, so the score norm is left out of its runs.
    assert "4 combinations are left out" in plan + plugged("sweep", *grid, *SMALL, "--dry-run").stdout
    swept = json.loads(plugged("sweep", *grid, *SMALL, "--jobs", 2, "--json", "-q").stdout)
    assert (swept["planned"], swept["done"], swept["failed"]) == (12, 12, 0)
    table = json.loads(plugged("report", "--rows", "model,norm", "--cols", "dataset", "--json").stdout)
    assert len(table["cells"]) == 6 and all(cell["n"] == 2 for cell in table["cells"])
    plugged(
        "report", "--rows", "model,norm", "--cols", "dataset", "--figure", "dots", "-o", "dots.png", "--figure-data"
    )
    assert (tmp_path / "dots.png").read_bytes().startswith(b"\x89PNG")
    assert len((tmp_path / "dots.csv").read_text().splitlines()) == 7


def test_what_is_known_of_toys_is_shown_with_the_rest(plugged):
    # One long word wraps differently in every terminal.
    text = " ".join(plugged("train", "--help").stdout.split())
    for words in ("the mean of the neighbours", "halved", "tenth"):
        assert words in text


def test_a_file_in_a_toy_format_that_is_damaged_is_refused_like_any_other(plugged, tmp_path):
    (tmp_path / "bad.pairs").write_text("0 1 0\n0 1 2\n")
    refused = plugged("train", "--dataset", "bad.pairs", *SMALL, check=4)
    assert f"Cannot use '{tmp_path / 'bad.pairs'}': a line is no pair of nodes." in refused.stderr


def test_the_toys_are_unknown_elsewhere(lipgnn):
    refused = lipgnn("train", "--model", "mean", check=2)
    assert "Unknown value of model 'mean'" in refused.stderr
