"""Runs as jobs of a Slurm cluster, through submitit."""

from __future__ import annotations

import contextlib
import math
import time
from pathlib import Path
from typing import Any

from lipgnn.errors import EnvironmentBroken, unknown_name
from lipgnn.sweep.engines.events import Ended, Orders
from lipgnn.sweep.engines.remote import Lost, RemoteEngine, Task, import_extra, supervise

EXECUTORS = ("slurm", "local")
# The limit Slurm is given for a run without a timeout; submitit's own would be five minutes.
DAY_MINUTES = 24 * 60
# What a job may take beside its run: to start, and to save when it is stopped.
MARGIN_MINUTES = 5
SILENT_SECONDS = 10.0


class SlurmEngine(RemoteEngine):
    """Hands every run to a job of its own, with `orders.threads` CPUs, and a GPU if its device is cuda.

    Slurm's own variables (SBATCH_PARTITION, SBATCH_ACCOUNT, SBATCH_TIMELIMIT, …) hold for these jobs too. Jobs outlive
    a sweep that is killed, and finish. A job that is cancelled or preempted saves its run first.

    Parameters
    ----------
    executor : "slurm", or "local" for processes of this machine in its place, to try it.

    Raises
    ------
    EnvironmentBroken : submitit is not installed.
    """

    def __init__(self, orders: Orders, executor: str = "slurm"):
        super().__init__(orders)
        if executor not in EXECUTORS:
            raise unknown_name("executor of submitit", executor, EXECUTORS)
        self.executor = executor
        self._submitit = import_extra("submitit", "slurm")
        self._silent: dict[str, float] = {}

    def open(self, folder: Path) -> None:
        try:
            self._submitit.AutoExecutor(folder=folder, cluster=self.executor)
        except RuntimeError as error:
            hint = "Call it where `sbatch` can be called; --address local tries it without."
            raise EnvironmentBroken(f"Slurm cannot be reached: {error}", hint) from error

    def submit(self, task: Task) -> Any:
        timeout = self.orders.timeout
        wishes = {
            "name": f"lipgnn-{task.planned.run_id}",
            "timeout_min": math.ceil(timeout / 60) + MARGIN_MINUTES if timeout else DAY_MINUTES,
            "cpus_per_task": self.orders.threads,
        }
        if task.planned.spec.device.startswith("cuda"):
            wishes["gpus_per_node"] = 1
        jobs = self._submitit.AutoExecutor(folder=task.folder, cluster=self.executor)
        jobs.update_parameters(**wishes)
        try:
            return jobs.submit(supervise, task)
        except (self._submitit.core.utils.FailedJobError, self._submitit.core.utils.FailedSubmissionError) as error:
            raise EnvironmentBroken(f"Slurm refused a job: {error}", "Its variables SBATCH_… may help.") from error

    def outcome(self, handle: Any) -> Ended | None:
        if not handle.done():
            return None
        if handle.paths.result_pickle.exists():
            with contextlib.suppress(self._submitit.core.utils.UncompletedJobError):
                return handle.result()
        # A shared folder may show a file some time after it was written.
        elif time.monotonic() - self._silent.setdefault(handle.job_id, time.monotonic()) < SILENT_SECONDS:
            return None
        last_words = (handle.stderr() or "").strip().splitlines()[-1:]
        raise Lost(": ".join([f"job {handle.job_id} ended without a word on its run", *last_words]))

    def withdraw(self, handle: Any) -> None:
        handle.cancel(check=False)

    def close(self) -> None:
        """Nothing to leave: jobs are in Slurm's hands."""
