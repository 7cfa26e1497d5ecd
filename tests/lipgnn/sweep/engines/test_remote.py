import json
import os
import time
from dataclasses import replace

import pytest
from made_up import result_of

from lipgnn.errors import UsageError
from lipgnn.results.claims import Holder
from lipgnn.results.store import Store
from lipgnn.spec.run import RunSpec
from lipgnn.sweep.engines import make_engine, remote
from lipgnn.sweep.engines.events import Ended, Orders, Progress
from lipgnn.sweep.engines.local import LocalEngine
from lipgnn.sweep.engines.remote import GO, Lost, RemoteEngine, Task, remove_dead_sweeps, supervise
from lipgnn.sweep.plan import PlannedRun

LINE = {"epoch": 3, "val_score": 0.5}


class Cluster(RemoteEngine):
    """A cluster in name only: `acts` says for each seed what its supervisor does, step by step.

    A step is "wait", "begin", "log", "finish", "lost", or what the supervisor returns.
    """

    def __init__(self, orders, acts):
        super().__init__(orders)
        self.acts = {seed: list(steps) for seed, steps in acts.items()}
        self.submitted, self.withdrawn, self.most = [], [], 0

    def open(self, folder):
        self.folder = folder

    def submit(self, task):
        self.submitted.append(task.planned.spec.seed)
        return task.planned

    def outcome(self, planned):
        self.most = max(self.most, len(self.submitted) - sum(not steps for steps in self.acts.values()))
        run = self.store.run(planned.run_id)
        run.path.mkdir(parents=True, exist_ok=True)
        step = self.acts[planned.spec.seed].pop(0)
        if step == "begin":
            (self.folder / planned.run_id).touch()
        elif step == "log":
            run.append_log(LINE)
        elif step == "finish":
            run.finish(result_of(planned))
        elif step == "lost":
            raise Lost("node 7 is gone")
        elif step != "wait":
            return Ended(0, planned, step)
        return None

    def withdraw(self, planned):
        self.withdrawn.append(planned.spec.seed)
        self.acts[planned.spec.seed] = ["lost"]

    def close(self):
        pass


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Events of a cluster with so many jobs: run(acts, jobs=2) -> (cluster, events)."""
    monkeypatch.setattr("lipgnn.sweep.engines.remote._POLL_SECONDS", 0)

    def call(acts, jobs=2, should_stop=lambda cluster, events: False):
        cluster = Cluster(Orders(tmp_path, jobs=jobs), acts)
        runs = [PlannedRun(RunSpec(seed=seed), f"{seed:012x}", "to do", None) for seed in acts]
        events = []
        for event in cluster.run(runs, lambda: should_stop(cluster, events)):
            events.append(event)
        return cluster, events

    return call


def ended(events):
    return {event.planned.spec.seed: event.status for event in events if isinstance(event, Ended)}


def test_never_more_runs_at_once_than_jobs_and_slots_are_used_again(run):
    cluster, events = run({seed: ["begin", "wait", "done"] for seed in range(7)}, jobs=3)
    assert ended(events) == dict.fromkeys(range(7), "done")
    assert cluster.submitted == list(range(7))
    assert cluster.most == 3
    assert {event.worker for event in events} == {0, 1, 2}


def test_progress_is_read_off_the_log_once_the_run_has_begun(run):
    _, events = run({0: ["wait", "begin", "log", "wait", "done"]})
    assert [(event.epoch, event.val_score) for event in events if isinstance(event, Progress)] == [(0, None), (3, 0.5)]


def test_a_lost_supervisor_fails_its_run_alone(run, tmp_path):
    _, events = run({0: ["begin", "log", "lost"], 1: ["done"], 2: ["done"]}, jobs=1)
    assert ended(events) == {0: "failed", 1: "done", 2: "done"}
    note = json.loads(Store(tmp_path).run(f"{0:012x}").failure_path.read_text())
    assert (note["reason"], note["epoch"]) == ("node 7 is gone", 3)


def test_a_run_that_was_finished_before_its_supervisor_was_lost_is_done(run):
    _, events = run({0: ["begin", "finish", "lost"]})
    assert ended(events) == {0: "done"}
    assert events[-1].result["run_id"] == f"{0:012x}"


def test_a_request_to_stop_takes_away_the_file_and_what_waits(run, tmp_path):
    gone = []

    def stop(cluster, events):
        gone.append(not (cluster.folder / GO).exists())
        return any(isinstance(event, Progress) for event in events)

    acts = {0: ["begin", "wait", "wait", "interrupted"], 1: ["wait"] * 9, 2: ["done"]}
    cluster, events = run(acts, should_stop=stop)
    assert ended(events) == {0: "interrupted", 1: "interrupted"}
    assert (cluster.submitted, cluster.withdrawn) == ([0, 1], [1])
    assert gone[0] is False and gone[-1] is True
    assert list(tmp_path.glob(".sweep-*")) == []


def test_a_supervisor_does_not_begin_what_is_to_stop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    planned = PlannedRun(RunSpec(dataset="planted"), "ab12", "to do", None)
    outcome = supervise(Task(Orders(tmp_path / "results"), planned, tmp_path, tmp_path))
    assert outcome.status == "interrupted"
    assert (tmp_path / "ab12").exists() and not (tmp_path / "results").exists()


@pytest.fixture
def left(tmp_path):
    """A folder as a sweep that was killed leaves it, so many seconds ago."""

    def make(name, *files, claim=None, ago=0):
        folder = tmp_path / f".sweep-{name}"
        folder.mkdir()
        for file in (GO, *files):
            (folder / file).touch()
        if claim:
            (folder / "claim").write_bytes(claim.at_beat(1))
        for path in (*folder.iterdir(), folder):
            os.utime(path, (time.time() - ago,) * 2)
        return folder

    return make


def test_the_folders_of_killed_sweeps_are_removed_and_those_of_others_are_not(left, tmp_path):
    ended, far = replace(Holder.myself(), started="long ago"), replace(Holder.myself(), place="far away")
    days = 24 * 3600
    gone = [
        left("ended", claim=ended),
        left("silent", claim=far, ago=2 * 3600),
        left("old", ago=days),
        left("complete", "7_submitted.pkl", "7_0_result.pkl", claim=ended),
        left("forgotten", "7_submitted.pkl", claim=ended, ago=8 * days),
    ]
    kept = [
        left("beating", claim=far, ago=10),
        left("new"),
        left("queued", "7_submitted.pkl", "8_submitted.pkl", "7_0_result.pkl", claim=ended, ago=3 * days),
    ]
    (tmp_path / "outside").mkdir()
    (tmp_path / ".sweep-link").symlink_to(tmp_path / "outside")
    remove_dead_sweeps(tmp_path)
    assert not any(folder.exists() for folder in gone)
    assert all(folder.exists() for folder in kept)
    assert (tmp_path / "outside").exists()


def test_the_folder_of_a_sweep_is_claimed_while_it_lasts(run, tmp_path):
    seen = []

    def look(cluster, events):
        remove_dead_sweeps(tmp_path)
        seen.append((cluster.folder / "claim").exists())
        return False

    run({0: ["begin", "wait", "done"]}, should_stop=look)
    assert seen and all(seen[1:])


@pytest.mark.parametrize("line", ["[]", "7", "{", '{"epoch": "x"}', "[" * 3000])
def test_a_log_that_is_damaged_tells_nothing(tmp_path, line):
    (tmp_path / "log").write_text(f"{line}\n")
    assert remote._last_line(tmp_path / "log")[1] == {"epoch": 0, "val_score": None}


def test_engines_are_made_by_name(tmp_path):
    orders = Orders(tmp_path)
    assert isinstance(make_engine("local", orders), LocalEngine)
    with pytest.raises(UsageError, match="Unknown engine 'rai'"):
        make_engine("rai", orders)
    with pytest.raises(UsageError, match="no address, got 'auto'"):
        make_engine("local", orders, "auto")
