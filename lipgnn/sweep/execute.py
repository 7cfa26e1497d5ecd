"""A prepared sweep computed: cores shared, an engine made, and what a study has gained archived. No torch here."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace

from lipgnn.files import ensure_writable
from lipgnn.results.archive import add_to_archive
from lipgnn.results.labels import add_labels
from lipgnn.results.store import Store
from lipgnn.results.sweeps import note_sweep
from lipgnn.runtime import choose_device
from lipgnn.sweep.engines import Orders, make_engine, remove_dead_sweeps
from lipgnn.sweep.engines.events import Event
from lipgnn.sweep.prepare import Prepared
from lipgnn.sweep.run import Engine, Summary, run_sweep

# Runs handed to a cluster at once; they wait in its queue.
CLUSTER_JOBS = 100


@dataclass(frozen=True)
class Means:
    """With what the runs of a sweep are computed.

    Attributes
    ----------
    engine : one of `lipgnn.sweep.engines.ENGINES`.
    address : of a cluster (see `make_engine`).
    jobs : runs at once; None leaves it to `shared_by`.
    threads : of each run; None leaves it to `shared_by`.
    timeout : seconds after which a run is ended, if any.
    save_every : epochs between checkpoints.
    fail_fast : the first failure ends the sweep.
    log : the trackers that runs are logged by.
    """

    engine: str = "local"
    address: str | None = None
    jobs: int | None = None
    threads: int | None = None
    timeout: float | None = None
    save_every: int = 10
    fail_fast: bool = False
    log: tuple[str, ...] = ()

    @property
    def elsewhere(self) -> bool:
        """Whether runs are computed on other machines."""
        return self.engine == "slurm" or self.address is not None

    def shared_by(self, runs: int) -> Means:
        """The same with numbers of jobs and threads: the cores of this machine, or what a cluster may have queued."""
        if self.elsewhere:
            return replace(self, jobs=self.jobs or max(1, min(CLUSTER_JOBS, runs)), threads=self.threads or 1)
        cores = os.cpu_count() or 1
        jobs = self.jobs or max(1, min(cores // (self.threads or 1), runs))
        return replace(self, jobs=jobs, threads=self.threads or max(1, cores // jobs))


def execute(
    prepared: Prepared, means: Means, *, should_stop: Callable[[], bool] = lambda: False
) -> Generator[Event | Summary, None, None]:
    """Compute what the plan says is to run; the last event is a Summary.

    Rows of a study are archived when the sweep ends, however it ends. Close the generator where events are not read to
    the end, so that this happens then.

    Parameters
    ----------
    means : completed by `Means.shared_by` where jobs or threads are left open.
    should_stop : asked often; True lets running epochs finish and be saved.

    Raises
    ------
    UsageError : the folder of results cannot be written to, or there is no such engine.
    EnvironmentBroken : the package that the engine needs is not installed, its cluster is not there, or the device of
        a run is not.
    """
    request, choice = prepared.request, prepared.choice
    means = means.shared_by(len(prepared.plan.to_run))
    if not means.elsewhere:
        # Said once, before anything is written; every run would fail of it alone. A cluster has devices of its own.
        for device in {planned.spec.device for planned in prepared.plan.to_run} - {"auto", "cpu"}:
            choose_device(device)
    ensure_writable(request.results)
    remove_dead_sweeps(request.results)
    note_sweep(request.results, (planned.run_id for planned in prepared.plan.runs), request.name)
    orders = Orders(
        request.results.absolute(),
        means.jobs,
        means.threads,
        means.timeout,
        request.force,
        means.save_every,
        choice.study.record if choice else (),
        means.log,
    )
    engine = make_engine(means.engine, orders, means.address)
    return _events(prepared, engine, should_stop, means.fail_fast)


def _events(
    prepared: Prepared, engine: Engine, should_stop: Callable[[], bool], fail_fast: bool
) -> Generator[Event | Summary, None, None]:
    results, choice = prepared.request.results, prepared.choice
    summary = archive = None
    try:
        with contextlib.closing(engine):
            for event in run_sweep(prepared.plan, Store(results), engine, should_stop=should_stop, fail_fast=fail_fast):
                if isinstance(event, Summary):
                    summary = event
                else:
                    yield event
    finally:
        _tag(prepared)
        if choice:
            archive = add_to_archive(results, choice.study, anew=(planned.run_id for planned in prepared.plan.to_run))
    yield replace(summary, archive=archive)


def _tag(prepared: Prepared) -> None:
    """Give the tags of a sweep to its runs, as far as these have been begun."""
    store = Store(prepared.request.results)
    for planned in prepared.plan.runs if prepared.request.tags else ():
        if (run := store.run(planned.run_id)).spec_path.exists():
            add_labels(run.path, tags=prepared.request.tags)
