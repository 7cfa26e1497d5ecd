"""Training on samples of one graph."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import torch

from lipgnn.datasets import Dataset
from lipgnn.network.hops import Hop
from lipgnn.runtime import dgl, one_thread
from lipgnn.spec.run import RunSpec
from lipgnn.tasks.batches.batch import WHOLE, Batch, Share, generator_of, shuffled
from lipgnn.tasks.batches.whole import WholeGraph


class _NoNeighbours(dgl.dataloading.Sampler):
    """What draws neighbours for a network of no layers, by the call that DGL's samplers have."""

    def sample(self, graph: dgl.DGLGraph, nodes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, list]:
        return nodes, nodes, []


class SampledNodes(WholeGraph):
    """Some training nodes a step, with a sample of their neighbours, of those neighbours' neighbours, and so on.

    In every layer a node sees itself and at most `fanout` others. Evaluation is on the whole graph, layer after layer,
    and sees all. Degrees, which GCN divides by, are those in the sample.

    Reference: Hamilton et al., "Inductive Representation Learning on Large Graphs", NeurIPS 2017, by DGL.
    """

    shares_forward = False
    share: Share = WHOLE

    def __init__(self, spec: RunSpec, dataset: Dataset, device: torch.device):
        super().__init__(spec, dataset, device)
        self._seed, self._batch_size, self._device = spec.seed, spec.batch_size, device
        # A node is never left out of its own sample: hops add the self-loops.
        self._neighbours = dgl.remove_self_loop(dataset.graph)
        # That of the self-loops is the last.
        self._loop_type = dataset.num_edge_types - 1 if dataset.num_edge_types else None
        fanouts = [spec.fanout] * spec.layers
        self._sampler = dgl.dataloading.NeighborSampler(fanouts) if fanouts else _NoNeighbours()

    def epoch(self, number: int) -> Iterator[Batch]:
        generator = generator_of(self._seed, number)
        nodes = shuffled(self.parts["train"], generator)
        seed = int(torch.randint(2**31 - 1, (), generator=generator, device="cpu"))
        # Workers draw neighbours of nodes of their own, each by itself.
        dgl.seed(seed + self.share.rank)
        for wanted in nodes.split(self._batch_size):
            own, said = self.share.cut(wanted)
            # By one thread: several would draw something else each time.
            with one_thread():
                inputs, outputs, flows = self._sampler.sample(self._neighbours, own)
            hops = [Hop.of_message_flow(flow.to(self._device), self._loop_type) for flow in flows]
            features = rows_of(self.features, inputs.to(self._device))
            yield Batch(hops, features, outputs.to(self._device), **said)

    @functools.cached_property
    def own_layer(self) -> Hop:
        """A layer on the whole graph whose targets are the share of the nodes that this worker evaluates."""
        return Hop.into(self.graph, *self.share.range(len(self.labels)))


def rows_of(features: torch.Tensor, nodes: torch.Tensor) -> torch.Tensor:
    """The features of some nodes, sparse where they are."""
    rows = features.index_select(0, nodes)
    return rows.coalesce() if rows.is_sparse else rows
