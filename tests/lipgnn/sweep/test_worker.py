import json
import os
import subprocess
import sys

import pytest
from toy_tracker import plug_in

from lipgnn.errors import RunFailed
from lipgnn.results.store import Store
from lipgnn.sweep import worker


@pytest.fixture
def request_for(small_spec, load_for, tmp_path):
    def make(**changes):
        spec = small_spec.with_values(**changes)
        return {
            "spec": spec.to_dict(),
            "run_id": spec.run_id(load_for(spec).fingerprint) if "dataset" not in changes else "ab" + "0" * 10,
            "results": str(tmp_path / "results"),
            "force": False,
            "save_every": 5,
            "record": [],
            "log": [],
        }

    return make


def test_a_run_tells_its_epochs_and_how_it_ended(request_for, tmp_path):
    told = []
    ended = worker.compute(request_for(), tell=told.append)
    assert [message["epoch"] for message in told] == [0, *range(1, 15)]
    assert (ended["status"], ended["result"]["run_id"]) == ("done", request_for()["run_id"])
    assert Store(tmp_path / "results").run(ended["result"]["run_id"]).result() is not None
    # A sweep rebuilds the table itself, once for many runs.
    assert not (tmp_path / "results" / "results.csv").exists()


def test_a_run_records_what_it_is_asked_to(request_for, tmp_path):
    for record in ([], ["gradients"]):
        request = {**request_for(epochs=2, seed=len(record)), "record": record}
        run = Store(tmp_path / "results").run(request["run_id"])
        assert worker.compute(request)["status"] == "done"
        assert run.recording_path("gradients").exists() == bool(record)


def test_a_run_without_the_fused_kernel_says_so(request_for, monkeypatch):
    missing = (None, "the fused kernel was not compiled when lipgnn was installed")
    monkeypatch.setattr("lipgnn.kernels.native.library", lambda: missing)
    for kernel, count in (("auto", 1), ("dgl", 0)):
        told = []
        assert worker.compute(request_for(epochs=1, kernel=kernel, seed=count), tell=told.append)["status"] == "done"
        notes = [message["note"] for message in told if message.get("note")]
        assert len(notes) == count and all(missing[1] in note for note in notes)


def test_a_run_is_logged_and_a_tracker_that_fails_is_told_of(request_for, monkeypatch):
    made = plug_in(monkeypatch, fails_at="log 2")
    told = []
    ended = worker.compute({**request_for(epochs=4), "log": ["toy"]}, tell=told.append)
    assert ended["status"] == "done" and [epoch for epoch, _ in made[0].epochs] == [1, 2]
    (note,) = [message["note"] for message in told if message.get("note")]
    assert note.startswith("Warning: Nothing more is logged by toy, which failed")


def test_a_request_to_stop_is_an_interruption_that_can_be_resumed(request_for):
    assert worker.compute(request_for(), should_stop=lambda: True)["status"] == "interrupted"
    told = []
    assert worker.compute(request_for(), tell=told.append)["status"] == "done"
    assert told[0]["epoch"] == 1


def test_a_run_held_by_another_is_told(request_for, tmp_path):
    with Store(tmp_path / "results").run(request_for()["run_id"]).claim():
        ended = worker.compute(request_for())
    assert ended["status"] == "held"


def test_a_result_that_is_there_already_is_not_counted_as_computed(request_for):
    assert worker.compute(request_for())["status"] == "done"
    assert worker.compute(request_for())["status"] == "elsewhere"


def test_a_failure_is_recorded_with_its_reason(request_for, tmp_path):
    ended = worker.compute(request_for(dataset="texas"))
    assert ended["status"] == "failed"
    assert "texas" in ended["reason"]
    assert (
        "texas"
        in json.loads((tmp_path / "results" / "runs" / ("ab" + "0" * 10) / "failure.json").read_text())["reason"]
    )


@pytest.mark.parametrize("error", [MemoryError(), OSError(5, "Input/output error"), RuntimeError("can't allocate")])
def test_what_the_system_cannot_do_ends_one_run_even_where_no_note_can_be_written(request_for, monkeypatch, error):
    def fail(*arguments, **options):
        raise error

    def full(*arguments):
        raise RunFailed("Could not write")

    monkeypatch.setattr(worker, "train", fail)
    monkeypatch.setattr("lipgnn.results.run.Run.fail", full)
    ended = worker.compute(request_for())
    assert (ended["status"], type(error).__name__ in ended["reason"]) == ("failed", True)


def test_a_diverged_run_has_a_result(request_for):
    ended = worker.compute(
        request_for(lr=1e3, layers=40, norm="none", residual="identity", activation="none", epochs=50)
    )
    assert ended["status"] == "diverged"
    assert ended["reason"] == ended["result"]["diverged_at"]


def test_the_process_serves_runs_and_ends_with_its_input(request_for):
    """Nothing but messages on its output, two runs in one process, exit 0 when nobody asks any more."""
    lines = "".join(json.dumps(request_for(seed=seed, epochs=2)) + "\n" for seed in (0, 1))
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "lipgnn.sweep.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    process.stdin.write(lines)
    process.stdin.flush()
    messages = []
    while sum(message["event"] == "ended" for message in messages) < 2:
        messages.append(json.loads(process.stdout.readline()))
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert messages[0] == {"event": "ready"}
    assert [m["status"] for m in messages if m["event"] == "ended"] == ["done", "done"]


def test_sigterm_saves_the_run_and_ends_the_process(request_for, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "lipgnn.sweep.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        process.stdin.write(json.dumps(request_for(epochs=10**6)) + "\n")
        process.stdin.flush()
        while json.loads(process.stdout.readline())["event"] != "epoch":
            pass
        process.terminate()
        last = json.loads(process.stdout.read().splitlines()[-1])
        assert process.wait(60) == 0
    assert (last["event"], last["status"]) == ("ended", "interrupted")
    assert list(tmp_path.rglob("last.json")) and not list(tmp_path.rglob("claim"))


def test_a_sweep_that_is_gone_is_no_failure_of_its_run(request_for, tmp_path):
    """Nobody reads any more, and the input ends a moment later: the run is saved, and no note says that it failed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "lipgnn.sweep.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        process.stdin.write(json.dumps(request_for(epochs=10**6)) + "\n")
        process.stdin.flush()
        while json.loads(process.stdout.readline())["event"] != "epoch":
            pass
        process.stdout.close()
        assert process.wait(60) == 0
    assert list(tmp_path.rglob("last.json"))
    assert not list(tmp_path.rglob("claim")) and not list(tmp_path.rglob("failure.json"))
