import pytest

from cli.sweep_view import SweepView, differing, show_summary
from lipgnn.spec.run import RunSpec
from lipgnn.sweep.engines.events import Ended, Progress
from lipgnn.sweep.plan import Plan, PlannedRun
from lipgnn.sweep.run import Summary


@pytest.fixture
def runs():
    return [
        PlannedRun(RunSpec(seed=seed, norm=norm), f"{seed}{norm}", "to do", None)
        for seed in (0, 1)
        for norm in ("lip", "none")
    ]


def result(val_score):
    return {"val_score": val_score, "test_score": 0.5, "seconds": 1.25}


def test_runs_are_told_apart_by_what_differs(runs):
    assert differing(runs) == ["norm", "seed"]


def test_a_single_run_is_told_by_what_matters(runs):
    assert differing(runs[:1]) == ["dataset", "model", "layers", "norm", "seed"]


def test_off_a_terminal_every_run_is_a_line(capsys, runs):
    with SweepView(Plan(runs, runs), 2, quiet=False) as view:
        view.show(Progress(0, runs[0], 3, 0.7))
        view.show(Ended(0, runs[0], "done", None, result(0.7)))
        view.show(Ended(1, runs[1], "failed", "killed by [/x]"))
        view.show(Ended(0, runs[2], "interrupted", "stopped"))
    assert capsys.readouterr().err.splitlines() == [
        "[1/4] done  norm=lip seed=0  val 0.700  test 0.500  1.2 s",
        "[2/4] failed  norm=none seed=0: killed by [/x]",
    ]


def test_a_notebook_gets_few_lines_and_all_failures(capsys, monkeypatch):
    monkeypatch.setenv("JPY_PARENT_PID", "1")
    many = [PlannedRun(RunSpec(seed=seed), str(seed), "to do", None) for seed in range(100)]
    with SweepView(Plan(many, many), 2, quiet=False) as view:
        for planned in many:
            status = "failed" if planned.spec.seed == 41 else "done"
            view.show(Ended(0, planned, status, "why", result(0.7)))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 21 and lines[-1].startswith("[100/100]")
    assert any("failed" in line and line.endswith("seed=41: why") for line in lines)


def test_what_is_left_is_told_by_estimates_and_stopping_is_told(runs):
    asked = []
    known = [PlannedRun(planned.spec, planned.run_id, "to do", 10.0) for planned in runs]
    with SweepView(Plan(known, known), 2, quiet=True, stopping=lambda: bool(asked)) as view:
        assert view._left() == (0.0, "20 s left")
        view.show(Ended(0, known[0], "done", None, result(0.7)))
        assert view._left()[0] == 0.25 and "best val 0.700" in view._last_words()
        asked.append(True)
        assert "stopping" in view._last_words() and "kept" in view._last_words()


def test_an_interrupted_sweep_says_what_is_kept_and_how_to_go_on(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["lipgnn", "sweep", "--layers", "2,4", "--force"])
    show_summary(Summary(4, 1, 1, 0, 0, 3, 2.0, interrupted=True), tmp_path, None)
    err = capsys.readouterr().err
    assert "finished runs are kept" in err and err.endswith("lipgnn sweep --layers 2,4\n")


@pytest.mark.parametrize("words", [["--timeout", "1"], ["--timeout=1"]])
def test_the_same_timeout_is_not_advised_again(capsys, tmp_path, monkeypatch, words):
    monkeypatch.setattr("sys.argv", ["lipgnn", "sweep", *words, "--layers", "2"])
    show_summary(Summary(1, 0, 0, 1, 0, 0, 2.0, interrupted=False, timed_out=1), tmp_path, None)
    err = capsys.readouterr().err
    assert "1 run took longer than --timeout allows" in err
    assert "lipgnn sweep --layers 2 --retry failed" in err


def test_quiet_shows_failures_only(capsys, runs):
    with SweepView(Plan(runs, runs), 1, quiet=True) as view:
        view.show(Ended(0, runs[0], "done", None, result(0.7)))
        view.show(Ended(0, runs[1], "failed", "why"))
    assert capsys.readouterr().err == "[2/4] failed  norm=none seed=0: why\n"


def test_the_best_is_by_validation(runs):
    view = SweepView(Plan(runs, runs), 1, quiet=True)
    for planned, accuracy in zip(runs, (0.5, 0.9, 0.7, None), strict=True):
        view.show(Ended(0, planned, "done", None, result(accuracy)) if accuracy else Ended(0, planned, "failed", "x"))
    assert view.best == (0.9, "norm=none seed=0")
