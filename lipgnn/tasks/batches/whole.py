"""Training on a whole graph at once."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from lipgnn.datasets import Dataset
from lipgnn.spec.run import RunSpec
from lipgnn.tasks.batches.batch import Batch, parts_of


class WholeGraph:
    """One step an epoch, on the whole graph."""

    shares_forward = True

    def __init__(self, spec: RunSpec, dataset: Dataset, device: torch.device):
        self.graph = dataset.graph.to(device)
        self.features = dataset.features.to(device, getattr(torch, spec.dtype))
        self.labels = dataset.labels.to(device)
        self.parts = parts_of(dataset, device)
        self._everyone = torch.arange(len(self.labels), device=device)

    def epoch(self, number: int) -> Iterator[Batch]:
        nodes = self.parts["train"]
        yield Batch(self.graph, self.features, nodes, nodes)

    def everything(self) -> Iterator[Batch]:
        yield Batch(self.graph, self.features, self._everyone)

    def whole(self) -> Batch:
        return next(self.everything())
