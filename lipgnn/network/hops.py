"""Graphs that become smaller from layer to layer: where only some nodes' outputs are wanted, not all are computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from lipgnn.nn.contract import keeps_statistics
from lipgnn.runtime import EDGE_TYPE, dgl


@dataclass(frozen=True, eq=False)
class Hop:
    """The graph of one layer, of whose nodes the first are its targets.

    It has the sources of the layer as nodes, all with their self-loops, so that every layer and every kernel can be
    computed on it; what comes out for the others, who lack some in-edges, is dropped at once.

    Attributes
    ----------
    graph : with all sources as nodes.
    targets : how many of its nodes remain.
    rows : which of the layer before its nodes are; None where they are the same, in the same order.
    """

    graph: dgl.DGLGraph
    targets: int
    rows: torch.Tensor | None = None

    @classmethod
    def of_message_flow(cls, flow: dgl.DGLGraph, loop_type: int | None = None) -> Hop:
        """The hop of a message-flow graph of neighbours, which has no self-loops yet; its targets come first.

        Where its edges have types, those of the self-loops are `loop_type`.
        """
        sources, targets = flow.edges()
        loops = torch.arange(flow.num_src_nodes(), device=sources.device, dtype=sources.dtype)
        graph = dgl.graph((torch.cat([sources, loops]), torch.cat([targets, loops])), num_nodes=len(loops))
        if loop_type is not None:
            types = flow.edata[EDGE_TYPE]
            graph.edata[EDGE_TYPE] = torch.cat([types, types.new_full((len(loops),), loop_type)])
        return cls(graph, flow.num_dst_nodes())

    @classmethod
    def into(cls, graph: dgl.DGLGraph, first: int, end: int) -> Hop:
        """The layer of a graph with self-loops whose targets are its nodes from `first` to before `end`.

        Where edges have types, that of the self-loops is the last.
        """
        own = torch.arange(first, end, device=graph.device)
        sources, targets, edges = graph.in_edges(own, form="all")
        needed = torch.zeros(graph.num_nodes(), dtype=torch.bool, device=graph.device)
        needed[sources.long()] = True
        needed[own] = False
        rows = torch.cat([own, needed.nonzero()[:, 0]])
        place = torch.empty(graph.num_nodes(), dtype=torch.int64, device=graph.device)
        place[rows] = torch.arange(len(rows), device=graph.device)
        # Targets have theirs among their in-edges.
        loops = torch.arange(len(own), len(rows), device=graph.device)
        ends = (torch.cat([place[nodes.long()], loops]) for nodes in (sources, targets))
        hop = dgl.graph(tuple(ends), num_nodes=len(rows))
        if EDGE_TYPE in graph.edata:
            types = graph.edata[EDGE_TYPE]
            hop.edata[EDGE_TYPE] = torch.cat([types[edges.long()], types.max().expand(len(loops))])
        return cls(hop, len(own), rows)

    def to_message_flow(self) -> dgl.DGLGraph:
        """The same as a message-flow graph, self-loops of the targets included."""
        sources, targets = self.graph.edges()
        wanted = targets < self.targets
        flow = dgl.create_block(
            (sources[wanted], targets[wanted]), num_src_nodes=self.graph.num_nodes(), num_dst_nodes=self.targets
        )
        if EDGE_TYPE in self.graph.edata:
            flow.edata[EDGE_TYPE] = self.graph.edata[EDGE_TYPE][wanted]
        return flow


Graphs = dgl.DGLGraph | Hop | Sequence[Hop]
"""What a network runs on: one graph for all layers, or a hop for each."""


def per_block(graph: Graphs, count: int) -> Sequence[dgl.DGLGraph | Hop]:
    """A graph for each of `count` blocks."""
    return graph if isinstance(graph, Sequence) else [graph] * count


def inputs_of(graph: dgl.DGLGraph | Hop, x: torch.Tensor) -> torch.Tensor:
    """The rows of x that a layer starts from: all but for a hop that names its own."""
    return x.index_select(0, graph.rows) if isinstance(graph, Hop) and graph.rows is not None else x


def convolve(conv: nn.Module, graph: dgl.DGLGraph | Hop, x: torch.Tensor) -> torch.Tensor:
    """conv(graph, x), (N, …, W) → (N, …, W) with heads side by side, of a hop's targets alone."""
    if not isinstance(graph, Hop):
        out = conv(graph, x)
    elif keeps_statistics(conv):
        # They must not be of the rows that are dropped.
        out = conv(graph.to_message_flow(), x)
    else:
        out = conv(graph.graph, x)[: graph.targets]
    return out.flatten(-2) if out.dim() > x.dim() else out


def targets_of(graph: dgl.DGLGraph | Hop, x: torch.Tensor) -> torch.Tensor:
    """The rows of x (N, W) that belong to targets: all but for a hop."""
    return x[: graph.targets] if isinstance(graph, Hop) else x
