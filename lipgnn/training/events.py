"""What a run tells on the way, beside its epochs: that it has started, and that it is finished."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lipgnn.kernels.choice import ASKED_FOR
from lipgnn.spec.run import RunSpec
from lipgnn.training.memory import MemoryPlan
from lipgnn.words import counted


@dataclass(frozen=True)
class Started:
    """A run begins, or goes on after `resumed_epoch`.

    Up to there `earlier_threads` and `earlier_workers` computed it; they are None if these are the same as now.

    `caution` says what is not as in one process, if anything is; `shorter`, whether it goes on from the same run with
    fewer epochs, if there is one (see `lipgnn.training.lengthen`).

    A run that starts from another one, which is not there yet, tells of that one first.
    """

    run_id: str
    spec: RunSpec
    device: str
    device_reason: str
    kernel: str
    kernel_reason: str
    parameters: int
    memory: MemoryPlan
    resumed_epoch: int
    threads: int
    earlier_threads: int | None
    earlier_workers: int | None = None
    caution: str | None = None
    shorter: str | None = None

    @property
    def note(self) -> str | None:
        """What a reader should know of a run that goes on, if anything."""
        if self.earlier_workers is not None:
            by, now = f"by {self.earlier_workers} worker(s)", f"with {self.spec.workers}"
            why = "which draw other random numbers and round sums in another order: its numbers"
        elif self.earlier_threads is not None:
            by, now = f"with {counted(self.earlier_threads, 'thread')}", f"with {self.threads}"
            why = "which round sums in another order: its last digits"
        else:
            return None
        return (
            f"Run {self.run_id} was computed {by} up to epoch {self.resumed_epoch} and goes on {now}, {why} may differ "
            "from those of an uninterrupted run."
        )

    @property
    def slower(self) -> str | None:
        """That the fused kernel is not used on a processor where nobody asked for DGL's, and why; None otherwise."""
        if (self.device, self.kernel) != ("cpu", "dgl") or self.kernel_reason == ASKED_FOR:
            return None
        return f"Kernel dgl, which takes several times as long as kernel fused, is used: {self.kernel_reason}."


@dataclass(frozen=True)
class Finished:
    """A run is finished: its result."""

    result: dict[str, Any]
