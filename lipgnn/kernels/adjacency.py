"""The edges of a graph in both orders, made once for a graph and kept as long as it lives."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from lipgnn.errors import DataError
from lipgnn.runtime import PerGraph, dgl

# Work is dealt out in pieces of about this many nodes and edges, but in no more than so many pieces. The pieces depend
# on the graph alone, never on the number of threads: sums over pieces are then the same at any number.
_PIECE = 256
_MOST_PIECES = 256


@dataclass(frozen=True)
class EdgeOrder:
    """The edges sorted by one of their ends.

    Attributes
    ----------
    start : (N + 1,) int64; the edges of node i are at start[i] to start[i + 1].
    other : (E,) int32, the node at the other end, ascending or as DGL has it.
    edge_id : (E,) int64, DGL's number of every edge.
    pieces : (P + 1,) int64, nodes at which equal shares of the work begin.
    """

    start: torch.Tensor
    other: torch.Tensor
    edge_id: torch.Tensor
    pieces: torch.Tensor


@dataclass(frozen=True)
class Adjacency:
    """Both orders of a graph's edges, on the device of the graph.

    Attributes
    ----------
    num_nodes, num_edges : N and E.
    incoming : by target, in the order in which DGL reduces; `other` is the source.
    outgoing : by source; `other` is the target, ascending, so that repeated edges lie side by side.
    """

    num_nodes: int
    num_edges: int
    incoming: EdgeOrder
    outgoing: EdgeOrder

    @classmethod
    def of(cls, graph: dgl.DGLGraph) -> Adjacency:
        """The adjacency of `graph`, made on first use.

        Raises
        ------
        DataError : more nodes than 32 bits can number.
        """
        return _adjacency_of(graph)

    @classmethod
    def _make(cls, graph: dgl.DGLGraph) -> Adjacency:
        nodes, edges = graph.num_nodes(), graph.num_edges()
        if nodes >= 2**31:
            raise DataError(
                f"The graph has {nodes} nodes; fused kernels number them with 32 bits.", "Use --kernel dgl."
            )
        start, source, edge_id = (part.long() for part in graph.adj_tensors("csc"))
        by_source = torch.argsort(source, stable=True)
        targets = torch.repeat_interleave(torch.arange(nodes, device=source.device), start.diff())
        counts = torch.bincount(source, minlength=nodes)
        out_start = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        return cls(
            nodes,
            edges,
            EdgeOrder(start, source.int(), edge_id, pieces(start)),
            EdgeOrder(out_start, targets[by_source].int(), edge_id[by_source], pieces(out_start)),
        )


_adjacency_of = PerGraph(Adjacency._make)


def pieces(start: torch.Tensor) -> torch.Tensor:
    """Nodes at which pieces of about equal work begin; a node costs as much as an edge, a hub is never divided."""
    work = start + torch.arange(len(start), device=start.device)  # before every node, and in all
    total = int(work[-1])
    count = max(1, min(_MOST_PIECES, total // _PIECE))
    wanted = torch.arange(count + 1, device=start.device) * total // count
    return torch.searchsorted(work, wanted)
