import json
import os
import signal
import time
from pathlib import Path

import pytest

from lipgnn.results.store import Store
from lipgnn.runtime import POLITE_SIGNALS
from lipgnn.spec.grid import Grid
from lipgnn.sweep.engines.events import Ended, Orders, Progress
from lipgnn.sweep.engines.local import LocalEngine, Worker
from lipgnn.sweep.plan import make_plan


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


@pytest.fixture
def runs(store):
    def make(**values):
        crossed = {"seed": [0], **{name: value for name, value in values.items() if isinstance(value, list)}}
        fixed = {"dataset": "planted", "hidden": 2, "heads": 2, "layers": 2, "epochs": 3, "patience": 0}
        fixed |= {name: value for name, value in values.items() if not isinstance(value, list)}
        fixed = {name: value for name, value in fixed.items() if name not in crossed}
        return make_plan(Grid(crossed, fixed=fixed).runs({})[0], store).to_run

    return make


def ended(events):
    return {event.planned.spec.seed: event for event in events if isinstance(event, Ended)}


def test_what_several_runs_have_to_say_is_said_once(store):
    engine = LocalEngine(Orders(store.root))
    notes = ["Warning: no disk", None, "Warning: no disk", "another"]
    assert [engine._new(note) for note in notes] == ["Warning: no disk", None, None, "another"]


def workers_of(pid):
    """Process ids of the children of `pid` that are workers."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parent = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1]
                command = Path(f"/proc/{name}/cmdline").read_text()
            except OSError:
                continue
            if int(parent) == pid and "lipgnn.sweep.worker" in command:
                found.append(int(name))
    return found


def test_runs_share_warm_processes_and_all_end(store, runs):
    engine = LocalEngine(Orders(store.root, jobs=2))
    seen = set()
    outcomes = {}
    for event in engine.run(runs(seed=[0, 1, 2, 3, 4]), lambda: False):
        seen |= set(workers_of(os.getpid()))
        if isinstance(event, Ended):
            outcomes[event.planned.spec.seed] = event.status
    assert outcomes == dict.fromkeys(range(5), "done")
    assert len(seen) == 2
    assert workers_of(os.getpid()) == []


def test_a_run_killed_from_outside_ends_alone_and_is_noted(store, runs):
    engine = LocalEngine(Orders(store.root, jobs=1))
    events = []
    for event in engine.run(runs(seed=[0, 1, 2], epochs=200), lambda: False):
        events.append(event)
        if isinstance(event, Progress) and event.planned.spec.seed == 1 and event.epoch == 5:
            os.kill(workers_of(os.getpid())[0], signal.SIGKILL)
    outcomes = ended(events)
    assert [outcomes[seed].status for seed in range(3)] == ["done", "failed", "done"]
    assert "killed by signal 9 (SIGKILL)" in outcomes[1].reason
    failure = json.loads(store.run(outcomes[1].planned.run_id).failure_path.read_text())
    assert failure["epoch"] >= 5
    assert failure["peak_memory_mb"] > 50


def test_a_worker_that_dies_after_finishing_has_done_its_run(store, runs, monkeypatch, tmp_path):
    todo = runs()
    (done,) = ended(LocalEngine(Orders(store.root)).run(todo, lambda: False)).values()
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\nif 'lipgnn.sweep.worker' in ' '.join(sys.orig_argv):\n    os.abort()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (again,) = ended(LocalEngine(Orders(store.root)).run(todo, lambda: False)).values()
    assert (again.status, again.result["run_id"]) == ("done", done.result["run_id"])
    assert not store.run(again.planned.run_id).failure_path.exists()


def test_a_native_crash_is_told_with_its_last_words(store, runs, monkeypatch, tmp_path):
    """A worker that aborts, as a native library does."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if 'lipgnn.sweep.worker' in ' '.join(sys.orig_argv):\n"
        "    sys.stderr.write('free(): invalid pointer\\n'); sys.stderr.flush(); os.abort()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (outcome,) = ended(LocalEngine(Orders(store.root)).run(runs(), lambda: False)).values()
    assert outcome.status == "failed"
    assert "SIGABRT" in outcome.reason and "free(): invalid pointer" in outcome.reason


def test_a_run_beyond_its_time_is_ended_alone(store, runs):
    engine = LocalEngine(Orders(store.root, jobs=1, timeout=12))
    began = time.monotonic()
    events = list(engine.run([*runs(epochs=10**6), *runs(seed=[1])], lambda: False))
    assert [(e.planned.spec.seed, e.status) for e in events if isinstance(e, Ended)] == [(0, "failed"), (1, "done")]
    assert "timeout of 12 seconds" in ended(events)[0].reason and ended(events)[0].timed_out
    assert time.monotonic() - began >= 12


def test_a_request_to_stop_lets_epochs_finish_and_starts_nothing_new(store, runs):
    asked = []
    events = []
    for event in LocalEngine(Orders(store.root, jobs=1)).run(runs(seed=[0, 1], epochs=10**5), lambda: bool(asked)):
        events.append(event)
        if isinstance(event, Progress) and event.epoch >= 3:
            asked.append(True)
    outcomes = ended(events)
    assert {seed: e.status for seed, e in outcomes.items()} == {0: "interrupted"}
    state = json.loads((store.run(outcomes[0].planned.run_id).path / "last.json").read_text())
    assert state["state"]["epoch"] >= 3
    assert workers_of(os.getpid()) == []


def test_a_run_stopped_while_its_process_starts_is_no_failure(store, runs):
    """The worker reads the run and the request to stop at once."""
    asked = iter([False])
    (outcome,) = ended(LocalEngine(Orders(store.root)).run(runs(epochs=10**6), lambda: next(asked, True))).values()
    assert outcome.status == "interrupted"
    assert not store.run(outcome.planned.run_id).failure_path.exists()


@pytest.mark.parametrize("number", POLITE_SIGNALS)
def test_a_polite_signal_waits_until_a_new_process_knows_what_it_means(store, runs, number):
    """Python needs a second to start, in which it would die of either."""
    worker = Worker(0, threads=1)
    worker.process.send_signal(number)
    worker.start(runs()[0], Orders(store.root))
    if number == signal.SIGINT:
        said = []
        while not any(message["event"] == "ended" for message in said):
            said += worker.messages()
        assert said[-1]["status"] == "done"
        worker.end()
    else:
        while worker.messages() is not None:
            pass
        worker.bury()
    assert worker.process.returncode == 0


def test_workers_are_replaced_after_many_runs(store, runs, monkeypatch):
    monkeypatch.setattr("lipgnn.sweep.engines.local.RUNS_A_WORKER", 1)
    seen = set()
    for _ in LocalEngine(Orders(store.root, jobs=1)).run(runs(seed=[0, 1]), lambda: False):
        seen |= set(workers_of(os.getpid()))
    assert len(seen) == 2


def test_a_worker_ended_by_sigterm_leaves_the_next_run_to_another(store, runs):
    events = []
    for event in LocalEngine(Orders(store.root, jobs=1)).run([*runs(epochs=10**6), *runs(seed=[1])], lambda: False):
        events.append(event)
        if isinstance(event, Progress) and event.planned.spec.seed == 0 and event.epoch == 2:
            os.kill(workers_of(os.getpid())[0], signal.SIGTERM)
    assert {seed: outcome.status for seed, outcome in ended(events).items()} == {0: "interrupted", 1: "done"}


def test_warm_processes_serve_one_call_after_the_other(store, runs):
    engine = LocalEngine(Orders(store.root, jobs=1), keep_warm=True)
    seen = set()
    for planned in runs(seed=[0, 1]):
        assert ended(engine.run([planned], lambda: False))[planned.spec.seed].status == "done"
        seen |= set(workers_of(os.getpid()))
    assert len(seen) == 1
    engine.close()
    assert workers_of(os.getpid()) == []
