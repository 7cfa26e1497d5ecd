"""What is not the same among workers as in one process."""

from __future__ import annotations

from torch import nn

from lipgnn.network.build import example_block
from lipgnn.nn import GINConv
from lipgnn.norms import BatchNorm, GraphNorm
from lipgnn.norms.contract import is_local, said
from lipgnn.spec.run import RunSpec
from lipgnn.tasks import Task


def own_statistics(spec: RunSpec, task: Task) -> str | None:
    """A caution where a norm or layer sees the nodes of a batch, of which every worker has its own; None if none does.

    BatchNorm has statistics of all workers' nodes, and GraphNorm those of one graph, which is one worker's; of a sample
    of a graph every worker has another. GCN divides by the number of edges in such a sample.
    """
    if spec.workers == 1:
        return None
    sampled = task.items == "nodes"
    parts = [part for part in example_block(spec).parts if not _is_exact(part, sampled)] if spec.layers else []
    if not parts:
        return None
    names = " and ".join(sorted({type(part).__name__ for part in parts}))
    return (
        f"What {names} makes of a node depends on the other nodes of its batch, and each of {spec.workers} workers has "
        "its own: the run is not that of one process."
    )


def _is_exact(part: nn.Module, sampled: bool) -> bool:
    if sampled and said(part, "counts_out_edges", False):
        return False
    return is_local(part) or isinstance(part, BatchNorm | GINConv) or (isinstance(part, GraphNorm) and not sampled)
