"""What a run trains on, step by step, and what it is evaluated on: a whole graph, samples of it, or many graphs."""

from __future__ import annotations

import torch

from lipgnn.datasets import Dataset, TreeDataset
from lipgnn.spec.run import RunSpec
from lipgnn.tasks.batches.batch import Batch, Batches, logits_of
from lipgnn.tasks.batches.sampled import SampledNodes
from lipgnn.tasks.batches.trees import TreeBatches
from lipgnn.tasks.batches.whole import WholeGraph

__all__ = ["Batch", "Batches", "batches_of", "logits_of"]


def batches_of(spec: RunSpec, dataset: Dataset | TreeDataset, device: torch.device) -> Batches:
    """The batches of a run."""
    if isinstance(dataset, TreeDataset):
        return TreeBatches(spec, dataset, device)
    return (SampledNodes if spec.batch_size else WholeGraph)(spec, dataset, device)
