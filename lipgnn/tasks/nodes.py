"""Node classification: every node of one graph has one of several classes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lipgnn import datasets
from lipgnn.catalog import AUTO_FORM, CLASSES, DATASETS, ORDER, dataset_entry
from lipgnn.errors import LipgnnError
from lipgnn.spec.batches import check_batches, check_workers
from lipgnn.tasks.task import Task

if TYPE_CHECKING:
    import torch

    from lipgnn.datasets import Dataset
    from lipgnn.spec.run import RunSpec
    from lipgnn.tasks.batches.batch import Batches


class Nodes(Task):
    """One class for every node; the loss is the cross-entropy, the metric accuracy unless the data set says another.

    A step sees the whole graph or, with a batch size, a sample of it. The defaults are those of the data set's entry in
    the catalog.
    """

    items = "nodes"
    metric = "accuracy"
    scored = (CLASSES, ORDER)
    has_classes = True
    least_layers = 0
    encoder_optional = True
    uncertified = None

    def defaults(self, dataset: str, model: str) -> dict[str, Any]:
        entry = dataset_entry(dataset)
        # What is known by its file alone may have any features.
        return entry.defaults if entry else {"features": AUTO_FORM}

    def check(self, spec: RunSpec) -> None:
        check_batches(spec.stack, spec.batch_size)
        check_workers(spec.workers, spec.batch_size)

    def metric_of(self, dataset: str) -> str | None:
        entry = dataset_entry(dataset)
        return entry.defaults.get("metric", self.metric) if entry else None

    def edges(self, dataset: str) -> int | None:
        entry = DATASETS.get(dataset)
        if entry and entry.edges:
            return entry.edges
        try:
            return datasets.count_edges(dataset)
        except LipgnnError:
            return None

    def load(self, name: str, *, split: str, missing: float, features: str, data_dir: Path | None) -> Dataset:
        return datasets.load(name, split=split, missing=missing, features=features, data_dir=data_dir)

    def identify(self, name: str, *, split: str, data_dir: Path | None) -> str:
        return datasets.identify(name, split=split, data_dir=data_dir)

    def batches(self, spec: RunSpec, dataset: Dataset, device: torch.device) -> Batches:
        if spec.batch_size:
            from lipgnn.tasks.batches.sampled import SampledNodes

            return SampledNodes(spec, dataset, device)
        from lipgnn.tasks.batches.whole import WholeGraph

        return WholeGraph(spec, dataset, device)

    def loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        from torch import nn

        return nn.functional.cross_entropy(logits, labels)
