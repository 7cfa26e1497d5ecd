"""What an engine says while it works, and what it is asked to do; the same for all engines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lipgnn.sweep.plan import PlannedRun


@dataclass(frozen=True)
class Progress:
    """A run has started (epoch 0 or where it goes on) or finished an epoch; `planned` says which.

    Attributes
    ----------
    note : what a reader should know of a run that has started, if anything.
    """

    worker: int
    planned: PlannedRun
    epoch: int
    val_score: float | None
    note: str | None = None


@dataclass(frozen=True)
class Ended:
    """A run is over.

    Attributes
    ----------
    status : "done", "diverged", "failed", "interrupted", "held" (another sweep computes it now) or "elsewhere" (another
        sweep was first, and its result is there).
    reason : why it was not done.
    result : its result, if it is finished.
    timed_out : whether it failed because it took longer than the timeout.
    """

    worker: int
    planned: PlannedRun
    status: str
    reason: str | None = None
    result: dict[str, Any] | None = None
    timed_out: bool = False


Event = Progress | Ended


@dataclass(frozen=True)
class Orders:
    """How all runs of a sweep are to be computed.

    Attributes
    ----------
    results : the store's folder, as an absolute path.
    jobs : how many runs at once.
    threads : of each run.
    timeout : seconds after which a run is ended, if any.
    record : what the runs record (see `lipgnn.training.loop.train`).
    log : the trackers that they are logged by (see `lipgnn.trackers.train`).
    """

    results: Path
    jobs: int = 1
    threads: int = 1
    timeout: float | None = None
    force: bool = False
    save_every: int = 10
    record: tuple[str, ...] = ()
    log: tuple[str, ...] = ()

    def request(self, planned: PlannedRun) -> dict[str, Any]:
        """What `lipgnn.sweep.worker.compute` is asked for a run."""
        return {
            "spec": planned.spec.to_dict(),
            "run_id": planned.run_id,
            "results": str(self.results),
            "force": self.force,
            "save_every": self.save_every,
            "record": list(self.record),
            "log": list(self.log),
        }
