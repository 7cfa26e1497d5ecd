"""One step's worth of data, and what gives one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import torch
from torch import nn

from lipgnn.network.build import example_block
from lipgnn.network.hops import Graphs
from lipgnn.nn.contract import is_local
from lipgnn.spec.run import RunSpec
from lipgnn.tasks.task import TaskData

Things = TypeVar("Things", torch.Tensor, list)


@dataclass(frozen=True, eq=False)
class Batch:
    """One step's worth of data.

    Attributes
    ----------
    graph, features : what the network is called with.
    items : (B,) numbers of the items (nodes or graphs) that are learned from or asked about.
    rows : where their logits are in the output; None where the output is theirs and nothing else.
    among : the items of all workers' batches of this step, this one's among them; None where it is the only one.
    idle : whether there was no item for this worker: it computes one that is another's, and it does not count.
    """

    graph: Graphs
    features: torch.Tensor
    items: torch.Tensor
    rows: torch.Tensor | slice | None = None
    among: torch.Tensor | None = None
    idle: bool = False

    def of_items(self, logits: torch.Tensor) -> torch.Tensor:
        """The rows of the items, in their order."""
        return logits if self.rows is None else logits[self.rows]


@dataclass(frozen=True)
class Share:
    """What one of several workers takes of every batch and of every evaluation: the whole where it is alone."""

    rank: int = 0
    world: int = 1

    def range(self, count: int) -> tuple[int, int]:
        """The first of `count` things that is its own, and the first that is the next worker's.

        No thing is left out and none is anybody else's; workers have as many as each other, or one more.
        """
        each, more = divmod(count, self.world)
        first = self.rank * each + min(self.rank, more)
        return first, first + each + (self.rank < more)

    def of(self, things: Things) -> Things:
        """Its own of some things, in their order."""
        first, end = self.range(len(things))
        return things[first:end]

    def cut(self, batch: torch.Tensor) -> tuple[torch.Tensor, dict[str, Any]]:
        """Its own items of a batch, and what else its `Batch` says of them."""
        if self.world == 1:
            return batch, {}
        own = self.of(batch)
        return (own, {"among": batch}) if len(own) else (batch[:1], {"among": batch, "idle": True})


WHOLE = Share()


class Batches(Protocol):
    """Where the steps of a run come from.

    Attributes
    ----------
    labels : of all items.
    parts : numbers of the items of every part of the split. Numbers instead of masks: to count the items of a mask, a
        GPU would have to be waited for.
    shares_forward : whether a step and an evaluation are one and the same call of the network.
    share : what `epoch` and `everything` give to this worker, of several; it may be set. Batches that have no such
        attribute cannot be divided.
    """

    labels: torch.Tensor
    parts: dict[str, torch.Tensor]
    shares_forward: bool
    share: Share

    def epoch(self, number: int) -> Iterator[Batch]:
        """The steps of an epoch, a function of the run's seed and of `number` alone: a resumed run sees the same."""

    def everything(self) -> Iterator[Batch]:
        """All items in order, for evaluation."""

    def whole(self) -> Batch:
        """A batch of one graph on which all layers see all nodes; where there are many graphs, some of them."""


@torch.no_grad()
def logits_of(network: nn.Module, batches: Batches) -> torch.Tensor:
    """The output for all items in order, (N, C)."""
    parts = [batch.of_items(network(batch.graph, batch.features)) for batch in batches.everything()]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def parts_of(dataset: TaskData, device: torch.device) -> dict[str, torch.Tensor]:
    """Numbers of the items of every part of the split."""
    masks = dataset.split.parts.items()
    return {part: torch.tensor(mask.nonzero()[0], device=device) for part, mask in masks}


def generator_of(seed: int, epoch: int) -> torch.Generator:
    """The source of all that is drawn for the batches of an epoch."""
    return torch.Generator(device="cpu").manual_seed(seed * 2**31 + epoch)


def shuffled(items: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """The items in an order of their own, on the CPU."""
    return items.cpu()[torch.randperm(len(items), generator=generator, device="cpu")]


def acts_along_edges_only(spec: RunSpec) -> bool:
    """Whether what becomes of a node depends on its in-neighbours alone, as far as all layers and norms say so.

    A reversible stack needs the same nodes in every layer.
    """
    return spec.stack == "plain" and all(is_local(part) for part in example_block(spec).parts)
