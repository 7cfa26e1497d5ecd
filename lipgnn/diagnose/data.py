"""What a network is diagnosed on: a whole graph, the loss of its training, and how good its outputs are."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from lipgnn.datasets import Dataset, TreeDataset
from lipgnn.runtime import dgl
from lipgnn.spec.run import RunSpec
from lipgnn.tasks import metrics
from lipgnn.tasks.batches import batches_of


@dataclass(frozen=True, eq=False)
class WholeData:
    """A graph on which all layers see all nodes; of many graphs, a batch.

    Attributes
    ----------
    graph, features : what the network is called with.
    labels : of the items whose logits are the first rows of the output: nodes, or trees by their roots.
    parts : the numbers of the items of every part of the split.
    metric : see lipgnn.tasks.metrics.
    """

    graph: dgl.DGLGraph
    features: torch.Tensor
    labels: torch.Tensor
    parts: dict[str, torch.Tensor]
    metric: str

    @classmethod
    def of(cls, spec: RunSpec, dataset: Dataset | TreeDataset, device: torch.device) -> WholeData:
        """The data of a run, whatever batches it is trained in."""
        batches = batches_of(spec, dataset, device)
        graph, features = batches.whole_graph()
        labels, parts = batches.labels, batches.parts
        if isinstance(dataset, TreeDataset):
            shown = graph.num_nodes() // dataset.trees.nodes
            labels, parts = labels[:shown], {part: items[items < shown] for part, items in parts.items()}
        return cls(graph, features, labels, parts, dataset.metric)

    def loss(self, logits: torch.Tensor) -> torch.Tensor:
        """That of the training, from the logits of all nodes."""
        train = self.parts["train"]
        return metrics.loss(self.metric, logits[train], self.labels[train])

    def accuracy(self, logits: torch.Tensor) -> dict[str, float | None]:
        """The metric on every part of the split; None where it has no items, or the logits are not finite."""
        return {part: self._score(logits[items], self.labels[items]) for part, items in self.parts.items()}

    def _score(self, logits: torch.Tensor, labels: torch.Tensor) -> float | None:
        if not len(labels) or not logits.isfinite().all():
            return None
        return metrics.score(self.metric, logits, labels).item()
