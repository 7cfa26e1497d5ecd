"""Graphs without their self-loops, for layers that treat a node itself apart from its neighbours."""

from __future__ import annotations

from typing import NamedTuple

import torch

from lipgnn.runtime import PerGraph, dgl


class Neighbours(NamedTuple):
    """A graph without its self-loops.

    Attributes
    ----------
    graph : the same nodes, and the edges between different ones in the same order.
    kept : the numbers that these edges have in the graph with the loops, (E',); None where there are no loops.
    """

    graph: dgl.DGLGraph
    kept: torch.Tensor | None


def without_loops(graph: dgl.DGLGraph) -> Neighbours:
    """The graph of the edges between different nodes; that of sources and targets of two kinds has no others.

    In a message-flow graph the targets are the first of the sources.
    """
    found = _found(graph)
    return Neighbours(graph, None) if found is None else found


def _without(graph: dgl.DGLGraph) -> Neighbours | None:
    """None where there are no loops: a graph that is kept with itself would never be let go."""
    if len(graph.ntypes) > 1 and not graph.is_block:
        return None
    sources, targets = graph.edges()
    kept = (sources != targets).nonzero().flatten()
    if len(kept) == len(sources):
        return None
    ends = (sources[kept], targets[kept])
    if graph.is_block:
        size = {"num_src_nodes": graph.num_src_nodes(), "num_dst_nodes": graph.num_dst_nodes()}
        return Neighbours(dgl.create_block(ends, **size), kept)
    return Neighbours(dgl.graph(ends, num_nodes=graph.num_nodes(), idtype=graph.idtype), kept)


# Once a graph: every layer of a deep network asks for the same.
_found = PerGraph(_without)
