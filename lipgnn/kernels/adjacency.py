"""The edges of a graph in both orders, made and checked once for a graph and kept as long as it lives."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import torch

from lipgnn.errors import DataError, UsageError
from lipgnn.runtime import PerGraph, dgl

# Work is dealt out in pieces of about this many nodes and edges, but in no more than so many pieces. The pieces depend
# on the graph alone, never on the number of threads: sums over pieces are then the same at any number.
_PIECE = 256
_MOST_PIECES = 256


@dataclass(frozen=True)
class EdgeOrder:
    """The edges sorted by one of their ends. Compiled code goes where it leads: make it by `checked`.

    Attributes
    ----------
    start : (N + 1,) int64; the edges of node i are at start[i] to start[i + 1].
    other : (E,) int32, the node at the other end, ascending or as DGL has it.
    edge_id : (E,) int64, DGL's number of every edge.
    pieces : (P + 1,) int64, nodes at which equal shares of the work begin.
    others : how many nodes there are at the other end.
    """

    start: torch.Tensor
    other: torch.Tensor
    edge_id: torch.Tensor
    pieces: torch.Tensor
    others: int

    @classmethod
    def checked(cls, start: torch.Tensor, other: torch.Tensor, edge_id: torch.Tensor, others: int) -> EdgeOrder:
        """An order of these edges, if they lead to nodes that there are.

        Raises
        ------
        DataError : an edge to no node, or more nodes than 32 bits can number.
        """
        if max(others, len(start) - 1) >= 2**31:
            raise DataError(
                f"There are {max(others, len(start) - 1)} nodes; fused kernels number them with 32 bits.",
                "Use --kernel dgl.",
            )
        edges = len(other)
        rises = len(start) and start[0] == 0 and start[-1] == edges and bool((start.diff() >= 0).all())
        if not (rises and _within(other, others) and _within(edge_id, edges) and len(edge_id) == edges):
            raise DataError("An edge leads to a node that is not there.", "Make the graph anew.")
        start, edge_id = start.long().contiguous(), edge_id.long().contiguous()
        return cls(start, other.int().contiguous(), edge_id, pieces(start), others)


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Both orders of a graph's edges, on the device of the graph.

    Attributes
    ----------
    num_sources, num_targets, num_edges : of a graph with one kind of nodes both are N; E.
    incoming : by target, in the order in which DGL reduces; `other` is the source.
    outgoing : by source; `other` is the target, ascending, so that repeated edges lie side by side.
    """

    num_sources: int
    num_targets: int
    num_edges: int
    incoming: EdgeOrder
    outgoing: EdgeOrder

    @functools.cached_property
    def num_pieces(self) -> int:
        """The larger number of pieces that work is dealt out in, of the two orders."""
        return max(len(self.incoming.pieces), len(self.outgoing.pieces)) - 1

    @classmethod
    def of(cls, graph: dgl.DGLGraph) -> Adjacency:
        """The adjacency of `graph`, made on first use.

        Raises
        ------
        DataError : more nodes than 32 bits can number.
        UsageError : more than one kind of edges.
        """
        return _adjacency_of(graph)

    @classmethod
    def _make(cls, graph: dgl.DGLGraph) -> Adjacency:
        sources, targets, _ = size_of(graph)
        start, source, edge_id = (part.long() for part in graph.adj_tensors("csc"))
        incoming = EdgeOrder.checked(start, source, edge_id, sources)
        by_source = torch.argsort(source, stable=True)
        ends = torch.repeat_interleave(torch.arange(targets, device=source.device), start.diff())
        counts = torch.bincount(source, minlength=sources)
        out_start = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        outgoing = EdgeOrder.checked(out_start, ends[by_source], edge_id[by_source], targets)
        return cls(sources, targets, len(source), incoming, outgoing)


_adjacency_of = PerGraph(Adjacency._make)


class Size(NamedTuple):
    """How many nodes edges can start from, and lead to (where there is one kind of nodes, all of them), and where."""

    sources: int
    targets: int
    device: torch.device


def size_of(graph: dgl.DGLGraph) -> Size:
    """The size of `graph`.

    Raises
    ------
    UsageError : more than one kind of edges.
    """
    return _size_of(graph)


def _find_size(graph: dgl.DGLGraph) -> Size:
    edges = graph.canonical_etypes
    # A message-flow graph counts a kind of nodes once as source and once as target.
    nodes = max(len(graph.srctypes), len(graph.dsttypes)) if graph.is_block else len(graph.ntypes)
    if len(edges) != 1 or nodes > (1 if graph.is_block else len({edges[0][0], edges[0][2]})):
        raise UsageError(
            "Attention needs a graph with one kind of edges and the nodes at their ends, and this one has "
            f"{len(edges)} kind(s) of edges and {len(graph.ntypes)} of nodes.",
            "Give graph[edge type], or put the layers into dgl.nn.HeteroGraphConv.",
        )
    source, _, target = edges[0]
    return Size(graph.num_src_nodes(source), graph.num_dst_nodes(target), graph.device)


# Once a graph: every layer of a deep network asks.
_size_of = PerGraph(_find_size)


def pieces(start: torch.Tensor) -> torch.Tensor:
    """Nodes at which pieces of about equal work begin; a node costs as much as an edge, a hub is never divided."""
    work = start + torch.arange(len(start), device=start.device)  # before every node, and in all
    total = int(work[-1])
    count = max(1, min(_MOST_PIECES, total // _PIECE))
    wanted = torch.arange(count + 1, device=start.device) * total // count
    return torch.searchsorted(work, wanted)


def _within(numbers: torch.Tensor, count: int) -> bool:
    """Whether all are from 0 to count − 1."""
    if not numbers.numel():
        return True
    least, most = numbers.aminmax()
    return bool(least >= 0) and bool(most < count)
