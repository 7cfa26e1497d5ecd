"""Whether a network makes use of the types of a graph's edges; no torch here."""

from __future__ import annotations

from lipgnn.catalog import MODELS
from lipgnn.spec.head_sharing import NO_SHARING
from lipgnn.spec.run import RunSpec
from lipgnn.tasks.task import TaskData


def tells_types_apart(spec: RunSpec) -> bool:
    """Whether the layers of this network have codes for types of edges."""
    return MODELS[spec.model].typed_edges and spec.head_sharing == NO_SHARING


def unused_types(spec: RunSpec, dataset: TaskData) -> str | None:
    """A caution where edges have types and the network does not look at them; None where there is nothing to say."""
    if len(dataset.shape) < 3 or tells_types_apart(spec):
        return None
    shared = MODELS[spec.model].typed_edges
    heads, use = (f" that share heads ({spec.head_sharing})", "--head-sharing none") if shared else ("", "--model gt")
    return f"Edges of {dataset.name!r} have types, which layers of {spec.model!r}{heads} do not tell apart; {use} does."
