"""What a run trains on, step by step, and what it is evaluated on: a whole graph, samples of it, or many graphs."""

from __future__ import annotations

import torch

from lipgnn.batches.batch import Batch, Batches, logits_of
from lipgnn.batches.sampled import SampledNodes
from lipgnn.batches.trees import TreeBatches
from lipgnn.batches.whole import WholeGraph
from lipgnn.datasets import Dataset, TreeDataset
from lipgnn.spec import RunSpec

__all__ = ["Batch", "Batches", "batches_of", "logits_of"]


def batches_of(spec: RunSpec, dataset: Dataset | TreeDataset, device: torch.device) -> Batches:
    """The batches of a run."""
    if isinstance(dataset, TreeDataset):
        return TreeBatches(spec, dataset, device)
    return (SampledNodes if spec.batch_size else WholeGraph)(spec, dataset, device)
