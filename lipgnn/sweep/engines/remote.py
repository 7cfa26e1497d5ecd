"""Runs handed to a cluster: what the engines for Ray and Slurm share.

Where a run is computed, a supervisor hands it on to a local engine of one process. So a run that dies or takes too
long is noticed, explained and noted there as it is on one machine, and its neighbours go on.

A sweep and its supervisors share nothing but the folder of the store. In it a sweep keeps a folder `.sweep-…` of its
own for as long as it lasts, and a claim in it that beats. While that has a file `go`, runs go on; without it they end
after their epoch, with a checkpoint. A file with the id of a run says that it has been begun.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from lipgnn.errors import EnvironmentBroken
from lipgnn.files import age
from lipgnn.results.claims import Claim, is_abandoned
from lipgnn.results.run import CLAIM, parse_log_line
from lipgnn.results.store import Store
from lipgnn.sweep.engines.events import Ended, Event, Orders, Progress
from lipgnn.sweep.engines.local import LocalEngine
from lipgnn.sweep.plan import PlannedRun

GO = "go"
SWEEP_PREFIX = ".sweep-"
# So long after the last sign of life the folder of a sweep is removed: that of the sweep itself, and of jobs that it
# left in a queue, which need the folder when their turn comes.
SILENT_SECONDS = 3600.0
QUEUED_SECONDS = 7 * 24 * 3600.0
_POLL_SECONDS = 0.2
_TAIL_BYTES = 4096


@dataclass(frozen=True)
class Task:
    """What a supervisor is told.

    Attributes
    ----------
    folder : of the sweep.
    directory : where the sweep was called, to which data sets may be relative.
    """

    orders: Orders
    planned: PlannedRun
    folder: Path
    directory: Path


def supervise(task: Task) -> Ended:
    """Compute a run on this machine; called in a process of the cluster."""
    (task.folder / task.planned.run_id).touch()
    with contextlib.suppress(OSError):
        os.chdir(task.directory)
    go = task.folder / GO
    for event in _local_engine(task.orders).run([task.planned], lambda: not go.exists()):
        if isinstance(event, Ended):
            return event
    return Ended(0, task.planned, "interrupted", "Stopped before it began.")


@functools.lru_cache(maxsize=1)
def _local_engine(orders: Orders) -> LocalEngine:
    """One for all runs of this process, so that they find it warm."""
    return LocalEngine(replace(orders, jobs=1), keep_warm=True)


class Lost(Exception):
    """A supervisor is gone and has not said how its run ended; the text is the reason."""


class Job:
    """A run that was handed over, and how far it is by its log."""

    def __init__(self, planned: PlannedRun, handle: Any, log_path: Path, mark: Path):
        self.planned = planned
        self.handle = handle
        self.epoch = 0
        self._log_path = log_path
        self._mark = mark
        self._told = -1

    def is_begun(self) -> bool:
        return self._mark.exists()

    def news(self) -> dict[str, Any] | None:
        """The last line of the log, if there is more of it than when last asked."""
        if not self.is_begun():
            return None
        size, line = _last_line(self._log_path)
        if size == self._told:
            return None
        self._told, self.epoch = size, line["epoch"]
        return line


class RemoteEngine(ABC):
    """Computes runs in up to `orders.jobs` processes of a cluster, which the subclasses know how to reach."""

    def __init__(self, orders: Orders):
        self.orders = orders
        self.store = Store(orders.results)

    @abstractmethod
    def open(self, folder: Path) -> None:
        """Reach the cluster; `folder` is the sweep's."""

    @abstractmethod
    def submit(self, task: Task) -> Any:
        """Have `supervise(task)` called in a process of the cluster, once; what comes back is handed to the others."""

    @abstractmethod
    def outcome(self, handle: Any) -> Ended | None:
        """What the supervisor returned, None while it works; raises Lost."""

    @abstractmethod
    def withdraw(self, handle: Any) -> None:
        """Take back what still waits for its turn."""

    @abstractmethod
    def close(self) -> None:
        """Leave the cluster."""

    def run(self, runs: Iterable[PlannedRun], should_stop: Callable[[], bool]) -> Iterator[Event]:
        """Compute all runs; after `should_stop` no new one, and those under way end after their epoch."""
        pending = deque(runs)
        jobs: dict[int, Job] = {}
        stopping = False
        with (
            tempfile.TemporaryDirectory(dir=self.orders.results, prefix=SWEEP_PREFIX) as name,
            contextlib.ExitStack() as stack,
        ):
            folder = Path(name)
            stack.enter_context(Claim(folder / CLAIM, "This sweep"))
            (folder / GO).touch()
            self.open(folder)
            while pending or jobs:
                if should_stop() and not stopping:
                    stopping = True
                    pending.clear()
                    self._stop(folder, jobs.values())
                for number in range(self.orders.jobs):
                    if pending and number not in jobs:
                        jobs[number] = self._hand_out(pending.popleft(), folder)
                time.sleep(_POLL_SECONDS)
                for number, job in list(jobs.items()):
                    event = self._look(number, job, stopping)
                    if isinstance(event, Ended):
                        del jobs[number]
                    if event:
                        yield event

    def _hand_out(self, planned: PlannedRun, folder: Path) -> Job:
        handle = self.submit(Task(self.orders, planned, folder, Path.cwd()))
        return Job(planned, handle, self.store.run(planned.run_id).log_path, folder / planned.run_id)

    def _stop(self, folder: Path, jobs: Iterable[Job]) -> None:
        (folder / GO).unlink()
        for job in jobs:
            if not job.is_begun():
                self.withdraw(job.handle)

    def _look(self, number: int, job: Job, stopping: bool) -> Event | None:
        try:
            ended = self.outcome(job.handle)
        except Lost as lost:
            ended = self._lost(job, str(lost), stopping)
        if ended:
            return replace(ended, worker=number, planned=job.planned)
        line = job.news()
        return Progress(number, job.planned, line["epoch"], line["val_score"]) if line else None

    def _lost(self, job: Job, reason: str, stopping: bool) -> Ended:
        run = self.store.run(job.planned.run_id)
        # The run may have been finished just before its supervisor was lost; with force it may be an old result.
        if (result := run.result()) and not self.orders.force:
            return Ended(0, job.planned, result["status"], result.get("diverged_at"), result)
        if stopping:
            return Ended(0, job.planned, "interrupted", reason)
        run.fail(reason, job.epoch)
        return Ended(0, job.planned, "failed", reason)


def remove_dead_sweeps(results: Path) -> None:
    """Delete the folders of sweeps that were killed, unless jobs of theirs may still come."""
    for folder in results.glob(f"{SWEEP_PREFIX}*"):
        if folder.is_symlink() or not folder.is_dir():
            continue
        silent = min(map(age, (folder, *folder.iterdir())))
        handed_over = {path.name.split("_")[0] for path in folder.glob("*_submitted.pkl")}
        waiting = handed_over - {path.name.split("_")[0] for path in folder.glob("*_result.pkl")}
        claimed = (folder / CLAIM).exists()
        over = is_abandoned(folder / CLAIM, SILENT_SECONDS) if claimed else silent > SILENT_SECONDS
        if over and (not waiting or silent > QUEUED_SECONDS):
            shutil.rmtree(folder, ignore_errors=True)


def import_extra(package: str, extra: str) -> ModuleType:
    """A package that only one engine needs.

    Raises
    ------
    EnvironmentBroken : it is not there.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise EnvironmentBroken(
            f"The engine {extra} needs {package}, which cannot be imported: {error}.",
            f'Install it with: pip install "lipgnn[{extra}]"',
        ) from error


def _last_line(path: Path) -> tuple[int, dict[str, Any]]:
    """Size of a log and its last whole line; epoch 0 where there is none."""
    size, line = 0, None
    with contextlib.suppress(OSError), open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        lines = file.read().split(b"\n")
        line = parse_log_line(lines[-2] + b"\n") if len(lines) > 1 else None
    return size, {"epoch": 0, "val_score": None, **(line or {})}
