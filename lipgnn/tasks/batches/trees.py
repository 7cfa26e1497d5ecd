"""Batches of trees: copies of one tree as one graph, made once for every size of batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch

from lipgnn.datasets.generated.trees import TreeDataset
from lipgnn.network.build import example_block
from lipgnn.network.hops import Graphs, Hop
from lipgnn.nn.contract import acts_alike
from lipgnn.runtime import MEMBERSHIP, dgl
from lipgnn.spec.run import RunSpec
from lipgnn.tasks.batches.batch import (
    WHOLE,
    Batch,
    Share,
    acts_along_edges_only,
    generator_of,
    parts_of,
    shuffled,
)
from lipgnn.tasks.batches.subtrees import OWN_LAYERS, Subtrees


class TreeBatches:
    """Some graphs a step, in another order every epoch; the logits are those of their roots.

    All graphs are copies of one tree, so a batch is told by the keys and values of its nodes alone. Its nodes are in
    the order of their depth: first the roots of all copies, then what is one edge away, and so on. Where nodes act on
    each other along edges only, layer k of L computes those alone from which the root can still be reached, within
    L − k edges: the same logits for less than half of the work. And where all else is the same for the same nodes,
    subtrees that several graphs have in common are computed once in all layers but the last two, unless the batch is
    so small that it has less to compute than all subtrees there are.

    Norms over nodes see those of the batch, in evaluation as well; GraphNorm sees those of each graph.
    """

    shares_forward = False
    share: Share = WHOLE

    def __init__(self, spec: RunSpec, dataset: TreeDataset, device: torch.device):
        self.labels = torch.tensor(dataset.labels_array, device=device)
        self.parts = parts_of(dataset, device)
        self._seed, self._layers, self._device = spec.seed, spec.layers, device
        self._batch_size = spec.batch_size or dataset.trees.graphs
        self._tree = dgl.graph(tuple(torch.tensor(dataset.edges, device="cpu")))
        by_depth = np.argsort(dataset.depths, kind="stable")
        self._place = torch.tensor(np.argsort(by_depth), device="cpu")
        table = np.stack([dataset.keys.T[by_depth], dataset.values.T[by_depth]])
        self._table = torch.tensor(table, device=device)  # (2, n, G)
        self._radius = dataset.trees.radius
        self._narrows = acts_along_edges_only(spec)
        self._subtrees = None
        if self._narrows and _acts_alike(spec) and OWN_LAYERS < spec.layers <= dataset.trees.radius + 1:
            subtrees = Subtrees.of(dataset, spec.layers, device)
            alone = sum(self._within(left, self._batch_size) for left in range(OWN_LAYERS + 1, spec.layers + 1))
            self._subtrees = subtrees if subtrees.rows < alone else None
        self._graphs: dict[int, Graphs] = {}

    def epoch(self, number: int) -> Iterator[Batch]:
        order = shuffled(self.parts["train"], generator_of(self._seed, number)).to(self._device)
        for items, said in map(self.share.cut, order.split(self._batch_size)):
            yield replace(self._batch(items), **said)

    def everything(self) -> Iterator[Batch]:
        # Whole batches: norms over nodes see those of a batch.
        items = torch.arange(len(self.labels), device=self._device)
        return map(self._batch, self.share.of(list(items.split(self._batch_size))))

    def whole(self) -> Batch:
        some = torch.arange(min(self._batch_size, len(self.labels)), device=self._device)
        return Batch(self._copies(len(some)), self._features(some), some, slice(len(some)))

    def _batch(self, items: torch.Tensor) -> Batch:
        size = len(items)
        if size not in self._graphs:
            own_layers = OWN_LAYERS if self._subtrees else self._layers
            self._graphs[size] = self._narrowing(size, own_layers) if self._narrows else self._copies(size)
        if not self._narrows:
            return Batch(self._graphs[size], self._features(items), items, slice(size))
        if not self._subtrees:
            return Batch(self._graphs[size], self._features(items)[:, : self._within(self._layers, size)], items)
        first, *others = self._graphs[size]
        own = [replace(first, rows=self._subtrees.top.index_select(1, items).flatten()), *others]
        return Batch([*self._subtrees.hops, *own], self._subtrees.features, items)

    def _features(self, items: torch.Tensor) -> torch.Tensor:
        """Keys and values, (2, n · B)."""
        return self._table.index_select(2, items).flatten(1)

    def _copies(self, size: int) -> dgl.DGLGraph:
        """`size` copies of the tree; node v of copy b has the number place(v) · size + b."""
        sources, targets = dgl.batch([self._tree] * size).edges()
        nodes = self._tree.num_nodes()
        renumbered = (self._place[ends % nodes] * size + ends // nodes for ends in (sources, targets))
        graph = dgl.graph(tuple(renumbered), num_nodes=nodes * size)
        graph.ndata[MEMBERSHIP] = torch.arange(nodes * size, device="cpu") % size
        return graph.to(self._device)

    def _narrowing(self, size: int, layers: int) -> list[Hop]:
        """A hop for each of the last `layers`: what is within so many edges of the roots."""
        sources, targets = self._copies(size).edges()
        hops = []
        for left in reversed(range(layers)):
            nodes = self._within(left + 1, size)
            inside = sources < nodes  # and so are their targets, which are not deeper
            graph = dgl.graph((sources[inside], targets[inside]), num_nodes=nodes)
            hops.append(Hop(graph, self._within(left, size)))
        return hops

    def _within(self, edges: int, size: int) -> int:
        """How many nodes of a batch are within so many edges of their root."""
        return (2 ** (min(edges, self._radius) + 1) - 1) * size


def _acts_alike(spec: RunSpec) -> bool:
    """Whether nodes with the same in-neighbours become the same: GCN counts out-edges as well, and dropout draws."""
    return acts_alike(example_block(spec).conv) and spec.dropout == spec.layer_dropout == spec.attn_dropout == 0
