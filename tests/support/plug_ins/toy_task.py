"""A task with data of its own: is the number of a node's neighbours on a ring with chords odd?"""

import dataclasses

import numpy as np

from lipgnn.datasets import Dataset, prepare
from lipgnn.datasets.source import Source
from lipgnn.datasets.splits import choose
from lipgnn.tasks.task import Task


class DegreeData(Dataset):
    """A graph whose labels are made from its edges."""

    task = "degrees"


class Degrees(Task):
    """`degrees:N` is a ring of N nodes, with a chord from every fifth to the one across."""

    items = "nodes"
    metric = "accuracy"

    def defaults(self, dataset, model):
        return {"features": "raw", "split": "random:0:4:3"}

    def edges(self, dataset):
        return self.load(dataset).edges.shape[1]

    def load(self, name, *, split="random:0:4:3", missing=0.0, features="raw", data_dir=None):
        count = int(name.partition(":")[2])
        nodes = np.arange(count)
        ring = np.stack([nodes, (nodes + 1) % count])
        chords = np.stack([nodes[: count // 2 : 5], (nodes[: count // 2 : 5] + count // 2) % count])
        edges = np.concatenate([ring, chords], axis=1)
        labels = np.bincount(edges.reshape(-1), minlength=count) % 2
        own = np.eye(2, dtype=np.float32)[labels]
        source = Source(name, edges, False, own, labels.astype(np.int64))
        data = prepare(source, choose(source, split), features=features, missing=missing)
        return DegreeData(**{field.name: getattr(data, field.name) for field in dataclasses.fields(data)})

    def identify(self, name, *, split, data_dir):
        return self.load(name, split=split).fingerprint

    def batches(self, spec, dataset, device):
        from lipgnn.tasks.batches.whole import WholeGraph

        return WholeGraph(spec, dataset, device)

    def loss(self, logits, labels):
        from torch import nn

        return nn.functional.cross_entropy(logits, labels)
