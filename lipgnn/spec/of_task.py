"""Which networks go with the task of a data set; no torch here."""

from __future__ import annotations

from typing import Protocol

from lipgnn.catalog import MODELS, find_task
from lipgnn.errors import UsageError


class Parts(Protocol):
    """What is looked at, by the names it has in RunSpec."""

    dataset: str
    model: str
    layers: int
    encoder: str


def check_of_task(parts: Parts, own: str) -> None:
    """Refuse a network that the task of this name cannot have.

    Raises
    ------
    UsageError : says which part it is, and what to do.
    """
    task = find_task(own)
    if (of := MODELS[parts.model].task) not in (None, own):
        raise UsageError(
            f"Model {parts.model!r} is of task {of}, and data set {parts.dataset!r} is of {own}.",
            "Use another --model.",
        )
    if parts.layers < task.least_layers:
        raise UsageError(
            f"A network of no layers maps features of nodes to classes, and data set {parts.dataset!r} is of {own}.",
            "Use --layers 1 or more.",
        )
    if parts.encoder == "none" and not task.encoder_optional:
        raise UsageError(
            f"With --encoder none the first layer takes features of nodes as they are, and data set "
            f"{parts.dataset!r}, of {own}, needs its encoder.",
            "Use --encoder linear.",
        )
