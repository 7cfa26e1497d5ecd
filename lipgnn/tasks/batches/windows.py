"""Batches of windows of trajectories, the windows of some trajectories a step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch

from lipgnn.datasets.trajectories import PathDataset
from lipgnn.datasets.windows import Windows, shortest_horizons, windows_of
from lipgnn.errors import UsageError
from lipgnn.spec.run import RunSpec
from lipgnn.tasks.batches.batch import WHOLE, Batch, Share, generator_of, shuffled
from lipgnn.tasks.batches.surroundings import Asked, Roads
from lipgnn.walks.graph import MOST_CONTINUATIONS, NON_BACKTRACKING

# Windows that are evaluated at once: where each is encoded on its own, and where what was encoded is looked up; and
# what walkers may do in all of these, if there are several.
_ENCODED, _LOOKED_UP = 32, 512
_MOVES_AT_ONCE = 2**19
# Batches of evaluations are kept while they have at most so many bytes in all.
_KEPT = 2**29


class WindowBatches:
    """The windows of some trajectories a step, in another order every epoch; the outputs are numbers of each window.

    Of the graph, those parts alone are in a batch that matter to its windows (see `Roads`). `labels` are the weights of
    windows in a mean over trajectories of means over their windows.
    """

    shares_forward = False
    share: Share = WHOLE

    def __init__(self, spec: RunSpec, dataset: PathDataset, device: torch.device):
        self._spec, self._device = spec, device
        self._roads = Roads(spec, dataset, device)
        windows = windows_of(dataset, spec.observed, spec.predict)
        masks = {part: torch.tensor(mask, device=device) for part, mask in dataset.split.parts.items()}
        trajectory = torch.tensor(windows.trajectory, device=device)
        # Of trajectories that are in some part alone.
        counted = torch.stack(list(masks.values())).any(0)[trajectory].nonzero()[:, 0]
        self._asked = asked_of(spec.horizon, dataset, windows, device).of(counted)
        self._trajectory = trajectory[counted]
        counts = torch.bincount(self._trajectory, minlength=len(dataset.lengths))
        self.labels = (1 / counts[self._trajectory]).to(getattr(torch, spec.dtype))
        self._trained = masks["train"].nonzero()[:, 0]
        self.parts = {part: mask[self._trajectory].nonzero()[:, 0] for part, mask in masks.items()}
        self._moves = self._count_moves(dataset.name)
        self._evaluated = self._divided(torch.arange(len(self.labels), device=device))
        self._kept: dict[int, Batch] = {}
        self._room = _KEPT

    def epoch(self, number: int) -> Iterator[Batch]:
        order = shuffled(self._trained, generator_of(self._spec.seed, number)).to(self._device)
        for some in order.split(self._spec.batch_size or len(order)):
            items = torch.isin(self._trajectory, some).nonzero()[:, 0]
            if len(items):
                own, said = self.share.cut(items)
                yield replace(self._batch(own, whole=False), **said)

    def everything(self) -> Iterator[Batch]:
        for number, items in self.share.of(list(enumerate(self._evaluated))):
            batch = self._kept.get(number) or self._batch(items, whole=True)
            if number not in self._kept and (size := _bytes_of(batch)) <= self._room:
                self._kept[number] = batch
                self._room -= size
            yield batch

    def of(self, items: torch.Tensor) -> Iterator[Batch]:
        """Some items in their order, of which everything can be measured."""
        return (self._batch(some, whole=True) for some in self._divided(items))

    def whole(self) -> Batch:
        return self._batch(self.parts["test"][:_ENCODED], whole=True)

    def _count_moves(self, name: str) -> torch.Tensor:
        """How much walkers may choose from in every window.

        Raises
        ------
        UsageError : too much, even in one.
        """
        items = torch.arange(len(self.labels), device=self._device)
        sizes = [self._roads.sizes(self._asked.of(some), self._spec.walk) for some in items.split(_LOOKED_UP)]
        moves = torch.cat(sizes) if sizes else items
        most = int(moves.max()) if len(moves) else 0
        if most > MOST_CONTINUATIONS and self._spec.walk == NON_BACKTRACKING:
            raise UsageError(
                f"Walkers that do not turn back have {most} continuations to choose from in one window of {name!r}, "
                f"and at most {MOST_CONTINUATIONS} are computed.",
                "Use --walk plain.",
            )
        return moves

    def _divided(self, items: torch.Tensor) -> list[torch.Tensor]:
        """Items in their order, as many together as are evaluated at once."""
        at_once = _ENCODED if self._roads.table is None and self._spec.model != "diffusion" else _LOOKED_UP
        first, total, cuts = 0, 0, []
        for place, size in enumerate(self._moves[items].tolist()):
            if place > first and (place - first == at_once or total + size > _MOVES_AT_ONCE):
                cuts.append(place)
                first, total = place, 0
            total += size
        return list(items.tensor_split(cuts))

    def _batch(self, items: torch.Tensor, *, whole: bool) -> Batch:
        # Walks need the longest ones first; `rows` brings the outputs back into the order of the items.
        order = torch.argsort(self._asked.horizons[items], descending=True, stable=True)
        surroundings, features = self._roads.around(self._asked.of(items[order]), whole=whole)
        return Batch(surroundings, features, items, torch.argsort(order))


def asked_of(horizon: str, dataset: PathDataset, windows: Windows, device: torch.device) -> Asked:
    """What is asked about some windows.

    Parameters
    ----------
    horizon : "given", as many steps as the true path has, or "shortest:X", X times as many as the shortest path.
    """
    kind, _, factor = horizon.partition(":")
    horizons = windows.horizon if kind == "given" else shortest_horizons(dataset, windows, float(factor))
    arrays = (windows.observations, windows.start, windows.target, windows.first_edge, windows.edges, horizons)
    return Asked(*(torch.tensor(array, device=device) for array in arrays))


def _bytes_of(batch: Batch) -> int:
    """About how much memory a batch needs, with what is made of its graphs on first use."""
    layers, scene = batch.graph.layers, batch.graph.scene
    own = 0 if batch.graph.columns is not None else batch.features.numel() * batch.features.element_size()
    encoded = layers.num_edges() * 128 if layers is not None and batch.graph.columns is None else 0
    looked_up = 0 if batch.graph.columns is None else batch.graph.columns.numel() * 8
    return own + encoded + looked_up + scene.graph.num_edges * 256
