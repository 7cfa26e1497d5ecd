"""Batches of windows of trajectories, the windows of some trajectories a step."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from lipgnn.datasets.trajectories import PathDataset
from lipgnn.datasets.windows import Windows, shortest_horizons, windows_of
from lipgnn.spec.run import RunSpec
from lipgnn.tasks.batches.batch import Batch, generator_of, shuffled
from lipgnn.tasks.batches.surroundings import Asked, Roads

# Windows that are evaluated at once: where each is encoded on its own, and where what was encoded is looked up.
_ENCODED, _LOOKED_UP = 32, 512


class WindowBatches:
    """The windows of some trajectories a step, in another order every epoch; the outputs are numbers of each window.

    Of the graph, those parts alone are in a batch that matter to its windows (see `Roads`). `labels` are the weights of
    windows in a mean over trajectories of means over their windows.
    """

    shares_forward = False

    def __init__(self, spec: RunSpec, dataset: PathDataset, device: torch.device):
        self._spec, self._device = spec, device
        self._roads = Roads(spec, dataset, device)
        windows = windows_of(dataset, spec.observed, spec.predict)
        self._asked = asked_of(spec.horizon, dataset, windows, device)
        self._trajectory = torch.tensor(windows.trajectory, device=device)
        counts = torch.bincount(self._trajectory, minlength=len(dataset.lengths))
        self.labels = (1 / counts[self._trajectory]).to(getattr(torch, spec.dtype))
        masks = {part: torch.tensor(mask, device=device) for part, mask in dataset.split.parts.items()}
        self._trained = masks["train"].nonzero()[:, 0]
        self.parts = {part: mask[self._trajectory].nonzero()[:, 0] for part, mask in masks.items()}

    def epoch(self, number: int) -> Iterator[Batch]:
        order = shuffled(self._trained, generator_of(self._spec.seed, number)).to(self._device)
        for some in order.split(self._spec.batch_size or len(order)):
            items = torch.isin(self._trajectory, some).nonzero()[:, 0]
            if len(items):
                yield self._batch(items, whole=False)

    def everything(self) -> Iterator[Batch]:
        return self.of(torch.arange(len(self.labels), device=self._device))

    def of(self, items: torch.Tensor) -> Iterator[Batch]:
        """Some items in their order, of which everything can be measured."""
        for some in items.split(_ENCODED if self._roads.table is None else _LOOKED_UP):
            yield self._batch(some, whole=True)

    def whole(self) -> Batch:
        return self._batch(self.parts["test"][:_ENCODED], whole=True)

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
