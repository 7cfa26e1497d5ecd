import os

import pytest

from lipgnn.errors import EnvironmentBroken, UsageError
from lipgnn.results.archive import archive_path, read_archive
from lipgnn.results.store import Store
from lipgnn.sweep import execute as module
from lipgnn.sweep.engines.events import Ended
from lipgnn.sweep.execute import CLUSTER_JOBS, Means, execute
from lipgnn.sweep.plan import fingerprint_of
from lipgnn.sweep.prepare import SweepRequest, prepare
from lipgnn.sweep.run import Summary


@pytest.fixture
def engine(monkeypatch, result_row):
    """An engine that finishes every run at once; gives the orders it was made with and whether it was closed."""

    class Engine:
        def __init__(self, orders):
            self.orders, self.closed = orders, False

        def run(self, runs, should_stop):
            for planned in runs:
                fingerprint = fingerprint_of(planned.spec.dataset, planned.spec.split)
                result = result_row(**planned.spec.to_dict(), run_id=planned.run_id, fingerprint=fingerprint)
                run = Store(self.orders.results).run(planned.run_id)
                run.begin(planned.spec, fingerprint)
                run.finish(result)
                yield Ended(0, planned, "done", None, result)

        def close(self):
            self.closed = True

    made = []

    def make(name, orders, address=None):
        made.append(Engine(orders))
        return made[-1]

    monkeypatch.setattr(module, "make_engine", make)
    return made


def test_a_sweep_of_no_study_ends_with_its_summary_and_archives_nothing(tmp_path, engine):
    request = SweepRequest(tmp_path, {"dataset": ["planted"], "seed": [0, 1, 2]}, force=True)
    *events, summary = execute(prepare(request, {}), Means(jobs=2, threads=3, timeout=60, save_every=7))
    assert [event.planned.spec.seed for event in events] == [0, 1, 2]
    assert isinstance(summary, Summary) and (summary.ran, summary.archive) == (3, None)
    (used,) = engine
    orders = used.orders
    assert used.closed
    assert (orders.jobs, orders.threads, orders.timeout, orders.save_every) == (2, 3, 60, 7)
    assert orders.force and orders.record == () and orders.results == tmp_path.absolute()
    assert not (tmp_path / "studies").exists()


def test_the_rows_of_a_study_are_archived(tmp_path, engine):
    *_, summary = execute(prepare(SweepRequest(tmp_path, study="first"), {}), Means())
    path = archive_path(tmp_path, "first")
    assert summary.archive == (path, 10) and len(read_archive(path)) == 10


def test_a_sweep_that_is_closed_early_archives_what_it_has(tmp_path, engine):
    events = execute(prepare(SweepRequest(tmp_path, study="first"), {}), Means())
    next(events), next(events)
    events.close()
    assert len(read_archive(archive_path(tmp_path, "first"))) == 2
    assert engine[0].closed


def test_what_cannot_begin_says_so_before_the_first_event(tmp_path):
    prepared = prepare(SweepRequest(tmp_path, {"dataset": ["planted"]}), {})
    with pytest.raises(UsageError, match="Unknown engine 'rai'"):
        execute(prepared, Means("rai"))


def test_a_device_that_is_not_here_is_told_once_and_nothing_runs(tmp_path, engine, monkeypatch):
    monkeypatch.setattr("lipgnn.runtime.cuda_obstacle", lambda index=0: "torch finds no CUDA device")
    prepared = prepare(SweepRequest(tmp_path / "r", {"dataset": ["planted"], "seed": [0, 1], "device": ["cuda"]}), {})
    with pytest.raises(EnvironmentBroken, match="Device 'cuda' was asked for"):
        execute(prepared, Means())
    assert not (tmp_path / "r").exists() and engine == []
    # A cluster has its own.
    *_, summary = execute(prepared, Means("slurm"))
    assert summary.ran == 2


@pytest.mark.parametrize(
    ("means", "runs", "jobs", "threads"),
    [
        (Means(), 10, 4, 1),
        (Means(), 2, 2, 2),
        (Means(), 0, 1, 4),
        (Means(threads=2), 10, 2, 2),
        (Means(jobs=8), 10, 8, 1),
        (Means(jobs=1, threads=3), 10, 1, 3),
        (Means("slurm"), 10, 10, 1),
        (Means("slurm"), 1000, CLUSTER_JOBS, 1),
        (Means("ray", "auto", threads=2), 3, 3, 2),
        (Means("ray"), 10, 4, 1),
    ],
)
def test_four_cores_are_shared_and_a_cluster_s_queue_is_filled(monkeypatch, means, runs, jobs, threads):
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    shared = means.shared_by(runs)
    assert (shared.jobs, shared.threads) == (jobs, threads)
