"""LipschitzNorm with the length of the source, and what the code released with the paper computes."""

from __future__ import annotations

import torch
from torch import nn

from lipgnn.catalog import ADDITIVE
from lipgnn.norms.bound import Bound
from lipgnn.norms.lengths import nonzero, safe_length
from lipgnn.norms.scores.division import Ends, length_over_heads, lengths_of, longest_neighbour, positive
from lipgnn.runtime import dgl


class SourceLipschitzNorm(nn.Module):
    """The norm with the length of the source in place of the target's, for comparison.

        t̂_ij = t_ij / ( κ · ‖a‖ · sqrt( max_{j'∈N(i)} ‖z_j'‖² + ‖z_j‖² ) )

    Where every node has a self-loop |t̂_ij| ≤ 1/κ still holds, but the divisor is another for every edge of a node,
    and the theorem, which asks for one number a node, says nothing about it: there is no `node_bound`.

    Parameters
    ----------
    kappa : κ > 0.
    released : compute what the code published with the paper does (gdasoulas/LipschitzNorm, `lipschitznorm`). It takes
        ‖a‖ over all heads, and reads the maximum of target i from place i of the flattened (N, H) array: that of node
        ⌊i/H⌋ and head i mod H, for all heads of i. With one head it is the formula above, with several neither the
        formula nor bounded.
    """

    attention = (ADDITIVE,)
    keeps_statistics = False
    fused = False

    def __init__(self, *, kappa: float = 4.0, released: bool = False):
        super().__init__()
        self.kappa = positive(kappa)
        self.released = released

    def forward(self, graph: dgl.DGLGraph, scores: torch.Tensor, z: Ends, attn: torch.Tensor) -> torch.Tensor:
        """Divide the scores of all edges; shapes as in `LipschitzNorm`."""
        length, _ = lengths_of(z)  # (N, H, 1), of the sources
        longest = longest_neighbour(graph, length)
        if self.released:
            longest = longest.flatten()[: len(longest)].view(-1, 1, 1).expand_as(longest)
        attn_length = nonzero(length_over_heads(attn) if self.released else safe_length(attn))
        graph = graph.local_var()
        graph.srcdata["length"] = length
        graph.dstdata["longest"] = longest
        graph.apply_edges(lambda edges: {"lengths": torch.cat([edges.src["length"], edges.dst["longest"]], dim=-1)})
        return scores / self.kappa / attn_length / nonzero(safe_length(graph.edata["lengths"]))

    @property
    def local(self) -> bool:
        """Whether scores depend on in-neighbours alone: the released code reads the maximum of some other node."""
        return not self.released

    def certified(self, graph: dgl.DGLGraph) -> Bound:
        """No bound is known."""
        return Bound.unknown("this variant of LipschitzNorm has no certified bound: use --norm lip")

    def extra_repr(self) -> str:
        return f"kappa={self.kappa}, released={self.released}"
