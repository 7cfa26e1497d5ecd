import json

import pytest

from cli import console
from cli.sweep_plan import show_plan
from lipgnn.spec.run import RunSpec
from lipgnn.sweep.plan import Plan, PlannedRun


@pytest.fixture
def plan():
    """A run that is done, two to come of one minute, one of them by guess, and one of which nothing is known."""
    runs = [
        PlannedRun(RunSpec(seed=0), "a", "done (archived)", 60.0),
        PlannedRun(RunSpec(seed=1), "b", "to do", 60.0),
        PlannedRun(RunSpec(seed=2), "c", "to do", 60.0, rough=True),
        PlannedRun(RunSpec(seed=3, dataset="texas"), "", "no data", None),
    ]
    return Plan(runs, runs[1:])


def test_the_sum_says_what_it_is_made_of(plan, capsys):
    show_plan(plan, {"paper": Plan(plan.runs[:2], plan.runs[1:2])}, as_json=False)
    out, err = capsys.readouterr()
    assert [line.split() for line in out.splitlines() if "cora" in line or "texas" in line] == [
        ["cora", "0–2", "1", "done", "(archived),", "2", "to", "do", "~2.0", "min"],
        ["texas", "3", "no", "data", "–"],
    ]
    assert "4 runs: 1 done (archived), 2 to do, 1 no data. 3 would run, one after the other in ~2.0 min" in err
    assert "without 1 of which nothing is known" in err
    assert "Scale paper: 2 runs: 1 done (archived), 1 to do. 1 would run, one after the other in 1.0 min." in err


def test_json_has_the_same_numbers(plan, capsys):
    show_plan(plan, {"paper": Plan([], [])}, as_json=True)
    content = json.loads(capsys.readouterr().out)
    assert (content["planned"], content["to do"], content["seconds"], content["unknown"]) == (4, 2, 120.0, 1)
    assert content["rough"] is True
    assert content["scales"]["paper"]["planned"] == 0
    assert [planned["rough"] for planned in content["cells"]] == [False, False, True, False]


def test_what_runs_again_is_marked(plan, capsys):
    show_plan(Plan(plan.runs, plan.runs), {}, as_json=False)
    assert capsys.readouterr().out.count("→ runs") == 1


def test_without_any_past_there_is_a_dash(capsys):
    runs = [PlannedRun(RunSpec(), "a", "to do", None)]
    show_plan(Plan(runs, runs), {}, as_json=False)
    assert "one after the other in –." in capsys.readouterr().err


def test_what_does_not_fit_a_terminal_is_told_in_words(plan, capsys, monkeypatch):
    monkeypatch.setattr(console, "fits", lambda columns, rows: False)
    show_plan(plan, {}, as_json=False)
    header, *rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert header == ["options", "seeds", "state", "estimate"] and rows[1][:2] == ["dataset=cora", "0–2"]


def test_seeds_with_gaps_are_listed(capsys):
    runs = [PlannedRun(RunSpec(seed=seed), str(seed), "to do", None) for seed in (9, 0, 1, 2, 5)]
    show_plan(Plan(runs, runs), {}, as_json=False)
    assert "0–2, 5, 9" in capsys.readouterr().out


def test_splits_with_the_same_seeds_share_a_row(capsys):
    pairs = [("0", 0), ("0", 1), ("1", 0), ("1", 1), ("2", 0), ("public", 0)]
    runs = [PlannedRun(RunSpec(split=split, seed=seed), f"{split}-{seed}", "to do", None) for split, seed in pairs]
    show_plan(Plan(runs, runs), {}, as_json=False)
    out = capsys.readouterr().out
    header, *rows = [line.split() for line in out.splitlines() if line.strip("─ ")]
    assert header == ["splits", "seeds", "state", "estimate"]
    assert [row[:-3] for row in rows] == [["0–1", "0–1"], ["2,", "public", "0"]]
