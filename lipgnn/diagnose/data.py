"""What a network is diagnosed on: a whole graph, the loss of its training, and how good its outputs are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from lipgnn.catalog import AUTO_METRIC
from lipgnn.runtime import dgl
from lipgnn.spec.run import RunSpec
from lipgnn.tasks import Task, TaskData, find_task
from lipgnn.tasks.batches import Batch


@dataclass(frozen=True, eq=False)
class WholeData:
    """A graph on which all layers see all nodes; of many graphs, a batch.

    Attributes
    ----------
    task : what is predicted.
    batch : what the network is called with, and the items it is asked about.
    labels : of these items.
    parts : where, among these items, those of every part of the split are.
    metric : the one that the run asks for.
    """

    task: Task
    batch: Batch
    labels: torch.Tensor
    parts: dict[str, torch.Tensor]
    metric: str = AUTO_METRIC

    @classmethod
    def of(cls, spec: RunSpec, dataset: TaskData, device: torch.device) -> WholeData:
        """The data of a run, whatever batches it is trained in."""
        task = find_task(dataset.task)
        batches = task.batches(spec, dataset, device)
        batch = batches.whole()
        places = {part: torch.isin(batch.items, items).nonzero().flatten() for part, items in batches.parts.items()}
        return cls(task, batch, batches.labels[batch.items], places, spec.metric)

    @property
    def graph(self) -> dgl.DGLGraph:
        """The graph that the network is called with."""
        return self.batch.graph

    @property
    def features(self) -> torch.Tensor:
        """The features that the network is called with."""
        return self.batch.features

    def loss(self, logits: torch.Tensor) -> torch.Tensor:
        """The loss of the training, from the logits of all nodes."""
        train = self.parts["train"]
        return self.task.loss(self.batch.of_items(logits)[train], self.labels[train])

    @property
    def chance(self) -> float | None:
        """The training score of whoever always says the commonest class; None where another score is asked for."""
        metric = self.task.metric_for(self.metric)
        if metric == "roc-auc":
            return 0.5
        labels = self.labels[self.parts["train"]]
        if metric != "accuracy" or not self.task.has_classes or not len(labels):
            return None
        return torch.bincount(labels).max().item() / len(labels)

    def accuracy(self, logits: torch.Tensor) -> dict[str, float | None]:
        """The metric on every part of the split; None where it says nothing, or the logits are not finite."""
        logits = self.batch.of_items(logits)
        return {part: self._score(logits[items], self.labels[items]) for part, items in self.parts.items()}

    def _score(self, logits: torch.Tensor, labels: torch.Tensor) -> float | None:
        if not len(labels) or not logits.isfinite().all():
            return None
        value = self.task.score(logits, labels, self.metric).item()
        return None if math.isnan(value) else value
