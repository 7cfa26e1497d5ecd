"""Diffusion along edges: where a walker that was observed somewhere may be nearby, which serves as a coordinate."""

from __future__ import annotations

import torch
from torch import nn

from lipgnn.nn.edge_head import EdgeHead
from lipgnn.runtime import PerGraph, dgl

NODES, EDGES = "features", "features"
"""Where a graph has the features of its nodes and edges, for learned transitions."""

_AT_ONCE = 256  # columns of a table that is made without gradients


class Diffusion(nn.Module):
    """X ← Aᵀ X, `hops` times, for columns X (N, C) that are distributions over the nodes.

        A_sr = softmax over the out-edges of s of equal logits ("uniform", 1 / out-degree)
               or of a perceptron of the features of s, of r and of the edge ("learned")

    Each column keeps its sum on the way. What comes out is divided by the root of its mean square, so that one size
    fits all graphs: the values themselves are of the size 1/N. With both directions the same is done along reversed
    edges, with transitions of their own, and stands behind it.

    Reference: Cordonnier & Loukas, "Extrapolating paths with graph neural networks", IJCAI 2019, and their code, which
    joins the two directions along the wrong axis.

    Parameters
    ----------
    hops : how often.
    transitions : "uniform" or "learned".
    directions : "forward" or "both".
    node_width, edge_width : numbers of features, for learned transitions.
    """

    def __init__(self, hops: int, transitions: str, directions: str, node_width: int, edge_width: int):
        super().__init__()
        self.hops = hops
        self.both = directions == "both"
        learned = transitions == "learned"
        self.forth = EdgeHead(node_width, edge_width) if learned else None
        self.back = EdgeHead(node_width, edge_width) if learned and self.both else None

    @property
    def parts(self) -> list[nn.Module]:
        """There are no layers or norms in it."""
        return []

    def forward(self, graph: dgl.DGLGraph, x: torch.Tensor, start: torch.Tensor | None = None) -> torch.Tensor:
        """(N, C) → (N, C), or (N, 2C) with both directions; called as a block of a network.

        Parameters
        ----------
        graph : with self-loops; for learned transitions, with the features of its nodes and edges as NODES and EDGES.
        """
        forth = self._diffused(graph, x, self.forth)
        return torch.cat([forth, self._diffused(_reversed(graph), x, self.back)], dim=1) if self.both else forth

    @torch.no_grad()
    def table(self, graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
        """The same without gradients, some columns at a time: (N, C) → (N, C), or (N, 2C) with both directions."""
        parts = [self(graph, part).chunk(2 if self.both else 1, dim=1) for part in x.split(_AT_ONCE, dim=1)]
        return torch.cat([part for direction in zip(*parts, strict=True) for part in direction], dim=1)

    def _diffused(self, graph: dgl.DGLGraph, x: torch.Tensor, head: EdgeHead | None) -> torch.Tensor:
        weights = self._weights(graph, head).to(x.dtype)
        for _ in range(self.hops):
            x = dgl.ops.u_mul_e_sum(graph, x, weights)
        return x / x.square().mean(dim=0).sqrt()

    def _weights(self, graph: dgl.DGLGraph, head: EdgeHead | None) -> torch.Tensor:
        """The share of every edge in what leaves its source, (E, 1)."""
        sources, targets = graph.edges(order="eid")
        if head is None:
            return 1 / graph.out_degrees()[sources].double()[:, None]
        logits = head(graph.ndata[NODES], sources.long(), targets.long(), graph.edata[EDGES])
        return dgl.ops.edge_softmax(graph, logits[:, None], norm_by="src")


_reversed = PerGraph(lambda graph: dgl.reverse(graph, copy_ndata=True, copy_edata=True))
