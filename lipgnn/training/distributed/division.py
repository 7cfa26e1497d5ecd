"""How a run is divided among workers: whose items are whose, how much they weigh, and what each draws by itself."""

from __future__ import annotations

import torch

from lipgnn.errors import UsageError
from lipgnn.spec.run import RunSpec
from lipgnn.tasks import Task
from lipgnn.tasks.batches import Batch, Batches, Share


def divide(batches: Batches, share: Share, spec: RunSpec) -> None:
    """Let batches be those of one of several workers, with a random stream of its own.

    Raises
    ------
    UsageError : they cannot be divided.
    """
    if share.world == 1:
        return
    if not hasattr(batches, "share"):
        raise UsageError(
            f"The batches of data set {spec.dataset!r} cannot be divided among {share.world} workers.",
            "Use --workers 1.",
        )
    batches.share = share
    if share.rank:
        torch.manual_seed(stream(spec.seed, share.rank))


def stream(seed: int, rank: int, epoch: int = 0) -> int:
    """The seed of what a worker draws by itself from an epoch on; that of worker 0 is the run's at first."""
    return (seed + rank * 2**32 + epoch * 2**43) % 2**63


def weight_of(batch: Batch, task: Task, labels: torch.Tensor) -> float:
    """The part that the items of a worker have in the loss of the batch of all: weights of all workers have sum 1.

    Parameters
    ----------
    labels : of all items there are.
    """
    if batch.among is None or batch.idle:
        return float(not batch.idle)
    own, of_all = (task.weight(labels[items]) for items in (batch.items, batch.among))
    return float(own / of_all)
