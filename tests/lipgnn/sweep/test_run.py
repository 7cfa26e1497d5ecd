import json

import pytest
from made_up import result_of

from lipgnn.results.store import Store
from lipgnn.spec.grid import Grid
from lipgnn.sweep import run as sweep
from lipgnn.sweep.engines.events import Ended
from lipgnn.sweep.plan import make_plan
from lipgnn.sweep.run import Summary, run_sweep, summary_json


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


@pytest.fixture
def plan(store):
    grid = Grid({"seed": [0, 1, 2, 3]}, fixed={"dataset": "planted"})
    return make_plan(grid.runs({})[0], store)


class ScriptedEngine:
    """Ends runs as told: {seed: [status of the first attempt, of the second, …]}."""

    def __init__(self, store, script):
        self.store = store
        self.script = {seed: list(statuses) for seed, statuses in script.items()}

    def run(self, runs, should_stop):
        for planned in runs:
            if should_stop():
                return
            script = self.script.get(planned.spec.seed)
            status = script.pop(0) if script else "done"
            result = None
            if status in ("done", "diverged"):
                run = self.store.run(planned.run_id)
                run.begin(planned.spec, "f")
                result = result_of(planned, status)
                run.finish(result)
            yield Ended(0, planned, status, "because", result)


def finish(plan, store, engine, **options):
    *events, summary = run_sweep(plan, store, engine, **options)
    assert isinstance(summary, Summary)
    return [(event.planned.spec.seed, event.status) for event in events], summary


def test_a_run_that_fails_before_it_begins_has_its_options_noted(plan, store):
    finish(plan, store, ScriptedEngine(store, {1: ["failed"]}))
    (failed,) = (planned for planned in plan.runs if planned.spec.seed == 1)
    content = json.loads(store.run(failed.run_id).spec_path.read_text())
    assert failed.spec.run_id(content["fingerprint"]) == failed.run_id
    assert content["spec"] == failed.spec.to_dict()


def test_the_summary_counts_what_happened(plan, store):
    engine = ScriptedEngine(store, {1: ["failed"], 2: ["diverged"]})
    events, summary = finish(plan, store, engine)
    assert events == [(0, "done"), (1, "failed"), (2, "diverged"), (3, "done")]
    counted = {key: value for key, value in summary_json(summary).items() if key != "seconds"}
    assert counted == {"planned": 4, "done": 3, "ran": 3, "failed": 1, "diverged": 1, "skipped": 0}
    assert not summary.interrupted
    assert len(store.csv_path.read_text().splitlines()) == 4


def test_what_is_done_is_skipped(plan, store):
    finish(plan, store, ScriptedEngine(store, {}))
    again = make_plan([planned.spec for planned in plan.runs], store)
    events, summary = finish(again, store, ScriptedEngine(store, {}))
    assert events == []
    assert (summary.planned, summary.done, summary.ran, summary.skipped) == (4, 4, 0, 4)


def test_fail_fast_starts_nothing_after_a_failure(plan, store):
    events, summary = finish(plan, store, ScriptedEngine(store, {1: ["failed"]}), fail_fast=True)
    assert events == [(0, "done"), (1, "failed")]
    assert (summary.ran, summary.failed, summary.skipped) == (1, 1, 2)


def test_a_run_held_by_another_sweep_is_waited_for(plan, store, monkeypatch):
    """Seed 1 is held twice and then free; seed 2 is held until its holder finishes it."""
    engine = ScriptedEngine(store, {1: ["held", "held"], 2: ["held"]})

    def pause(seconds):
        planned = plan.runs[2]
        store.run(planned.run_id).begin(planned.spec, "f")
        store.run(planned.run_id).finish(result_of(planned))

    finishing = iter([pause])
    monkeypatch.setattr(sweep.time, "sleep", lambda seconds: next(finishing, lambda s: None)(seconds))
    engine.script[2] = ["held", "held"]
    events, summary = finish(plan, store, engine)
    assert sorted(events) == [(0, "done"), (1, "done"), (2, "elsewhere"), (3, "done")]
    assert (summary.done, summary.ran, summary.skipped) == (4, 3, 1)


def test_a_stop_is_an_interruption(plan, store):
    asked = iter([False, False, True])
    _, summary = finish(plan, store, ScriptedEngine(store, {}), should_stop=lambda: next(asked, True))
    assert summary.interrupted
    assert summary.ran < 4
