"""LipschitzNorm: attention scores divided by a bound computed from the features they came from.

Reference: Dasoulas, Scaman & Virmaux, "Lipschitz Normalization for Self-Attention Layers with Application to
Graph Neural Networks", ICML 2021. The constants of `node_bound` are derived from its theorem; they are the
sharper form, without the factor √2 of the published lemma.

Both norms are computed per head and per target node, gradients flow through the divisor, and both stay exact
for features of any size: every quantity is first divided by its own detached magnitude, so nothing is squared
or multiplied that could overflow, and where a whole neighbourhood is zero the divisor is 1.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from lipgnn.errors import UsageError
from lipgnn.runtime import dgl

fn = dgl.function


class LipschitzNorm(nn.Module):
    """Normalize additive scores t_ij = a_l·z_j + a_r·z_i, as in GAT.

        t̂_ij = t_ij / ( κ · ‖a‖ · sqrt( max_{j∈N(i)} ‖z_j‖² + ‖z_i‖² ) ),   a = [a_l ‖ a_r]

    so that |t̂_ij| ≤ 1/κ, and attention is Lipschitz with the constant of `node_bound`.

    Parameters
    ----------
    kappa : κ > 0; larger values give flatter attention. 4 makes the published bound 1 + e^{1/4}/√n.
    per_head : whether ‖a‖ is that of the head, or one number over all heads, about √H times larger. The bound holds
        for both.
    """

    def __init__(self, *, kappa: float = 4.0, per_head: bool = True):
        super().__init__()
        self.kappa = _positive(kappa)
        self.per_head = per_head

    def forward(self, graph: dgl.DGLGraph, scores: torch.Tensor, z: torch.Tensor, attn: torch.Tensor) -> torch.Tensor:
        """Divide the scores of all edges.

        Parameters
        ----------
        scores : (E, H, 1), raw scores t_ij.
        z : (N, H, D), projected features.
        attn : (1, H, 2D), the attention vector a of every head.

        Returns
        -------
        (E, H, 1), scores within ±1/κ.
        """
        length = safe_length(z)  # (N, H, 1)
        longest = _longest(graph, length)  # (N, H, 1), max over j of ‖z_j‖
        size = nonzero(torch.maximum(longest, length).detach())
        ratio = (longest / size).square() + (length / size).square()  # in [1, 2], or 0 where all is zero
        attn_length = nonzero(safe_length(attn) if self.per_head else _length_over_heads(attn))  # (1, H or 1, 1)
        attn_size = attn_length.detach()
        divisor = self.kappa * (attn_length / attn_size) * nonzero(ratio).sqrt()
        return _divide(graph, scores, (1 / size) * (1 / attn_size), divisor)

    def node_bound(self, in_degrees: torch.Tensor) -> torch.Tensor:
        """L_i ≤ e^{1/κ}/√n_i + 2√2/κ: the Lipschitz constant of node i's attention in (z_j, z_i)."""
        return math.exp(1 / self.kappa) * in_degrees.rsqrt() + 2 * math.sqrt(2) / self.kappa

    def extra_repr(self) -> str:
        return f"kappa={self.kappa}, per_head={self.per_head}"


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

    def __init__(self, *, kappa: float = 4.0, released: bool = False):
        super().__init__()
        self.kappa = _positive(kappa)
        self.released = released

    def forward(self, graph: dgl.DGLGraph, scores: torch.Tensor, z: torch.Tensor, attn: torch.Tensor) -> torch.Tensor:
        """Divide the scores of all edges; shapes as in `LipschitzNorm`."""
        length = safe_length(z)  # (N, H, 1)
        longest = _longest(graph, length)
        if self.released:
            longest = longest.flatten()[: len(longest)].view(-1, 1, 1).expand_as(longest)
        attn_length = nonzero(_length_over_heads(attn) if self.released else safe_length(attn))
        graph = graph.local_var()
        graph.srcdata["length"] = length
        graph.dstdata["longest"] = longest
        graph.apply_edges(lambda edges: {"lengths": torch.cat([edges.src["length"], edges.dst["longest"]], dim=-1)})
        return scores / self.kappa / attn_length / nonzero(safe_length(graph.edata["lengths"]))

    def extra_repr(self) -> str:
        return f"kappa={self.kappa}, released={self.released}"


class DotProductLipschitzNorm(nn.Module):
    """Normalized dot-product scores of q_i and k_j, as in the Graph Transformer.

        t̂_ij = q_i·k_j / ( κ · max{ u_i v_i, u_i w_i, v_i w_i } )

    with v_i = max_{j∈N(i)} ‖k_j‖, w_i = max_{j∈N(i)} ‖v_j‖, and u_i = ‖q_i‖ for `query_norm="node"`, the
    theorem applied to every target node; u_i = ‖Q‖_F over all nodes for `query_norm="graph"`. The paper has
    κ = 1. The usual factor 1/√D is part of the divisor's business and is left out.

    This norm computes the scores itself instead of dividing given ones: the product of two large vectors
    would overflow before a divisor could tame it.

    Parameters
    ----------
    kappa : κ > 0, so that |t̂_ij| ≤ 1/κ.
    query_norm : "node" or "graph".
    """

    QUERY_NORMS = ("node", "graph")

    def __init__(self, *, kappa: float = 1.0, query_norm: str = "node"):
        super().__init__()
        if query_norm not in self.QUERY_NORMS:
            raise UsageError(f"Unknown query_norm {query_norm!r}.", "Valid: 'node', 'graph'.")
        self.kappa = _positive(kappa)
        self.query_norm = query_norm

    def forward(self, graph: dgl.DGLGraph, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Scores of all edges.

        Parameters
        ----------
        query, key, value : (N, H, D).

        Returns
        -------
        (E, H, 1), scores within ±1/κ.
        """
        u = safe_length(query)  # (N, H, 1)
        if self.query_norm == "graph":
            u = safe_length(u.transpose(0, 2)).transpose(0, 2)  # (1, H, 1)
        v, w = _longest(graph, safe_length(key)), _longest(graph, safe_length(value))
        # max{uv, uw, vw} is the product of the two largest of the three.
        first, second = torch.maximum(v, w), torch.maximum(u, torch.minimum(v, w))
        first_size, second_size = nonzero(first.detach()), nonzero(second.detach())
        divisor = nonzero(first / first_size) * nonzero(second / second_size)
        graph = graph.local_var()
        graph.srcdata["k"] = key
        graph.dstdata["q"] = query / second_size
        graph.apply_edges(fn.v_dot_u("q", "k", "scores"))
        return _divide(graph, graph.edata["scores"], 1 / first_size, self.kappa * divisor)

    def node_bound(self, in_degrees: torch.Tensor) -> torch.Tensor:
        """L_i ≤ e^{1/κ}/√n_i + 2√2/κ in (q_i, k_j, v_j) for "node".

        For "graph" half of the second term is common to all nodes (`shared_bound`), because the scores of
        every node depend on every query: L_i ≤ e^{1/κ}/√n_i + √2/κ here.
        """
        local = 2 if self.query_norm == "node" else 1
        return math.exp(1 / self.kappa) * in_degrees.rsqrt() + local * math.sqrt(2) / self.kappa

    @property
    def shared_bound(self) -> float:
        """The part of the bound that is not local to a node: √2/κ for "graph", 0 for "node"."""
        return 0.0 if self.query_norm == "node" else math.sqrt(2) / self.kappa

    def extra_repr(self) -> str:
        return f"kappa={self.kappa}, query_norm={self.query_norm!r}"


def safe_length(x: torch.Tensor) -> torch.Tensor:
    """‖x‖₂ over the last dimension (kept), without overflow or underflow, with gradient 0 at 0."""
    size = nonzero(x.detach().abs().amax(dim=-1, keepdim=True))
    return size * torch.linalg.vector_norm(x / size, dim=-1, keepdim=True)


def _length_over_heads(attn: torch.Tensor) -> torch.Tensor:
    """‖a‖ over all heads together, (1, H, D) → (1, 1, 1)."""
    return safe_length(attn.flatten(1)).unsqueeze(-1)


def _longest(graph: dgl.DGLGraph, length: torch.Tensor) -> torch.Tensor:
    """Maximum of `length` (N, H, 1) over the in-neighbours of every node; 0 where there are none."""
    longest = dgl.ops.copy_u_max(graph, length)
    # For a node without in-edges DGL gives -inf, and sends its gradient to node 0.
    has_neighbours = (graph.in_degrees() > 0).view(-1, 1, 1)
    return torch.where(has_neighbours, longest, torch.zeros_like(longest))


def _divide(graph: dgl.DGLGraph, scores: torch.Tensor, factor: torch.Tensor, divisor: torch.Tensor) -> torch.Tensor:
    """scores · factor / divisor on every edge, both of its target node; `factor` carries no gradient.

    Two steps, because DGL differentiates e_div_v through 1/divisor², which would overflow for a small divisor: the
    size is in the factor, and the divisor is near one.
    """
    graph = graph.local_var()
    graph.edata["scores"] = scores
    graph.dstdata["factor"] = factor
    graph.dstdata["divisor"] = divisor
    graph.apply_edges(fn.e_mul_v("scores", "factor", "scores"))
    graph.apply_edges(fn.e_div_v("scores", "divisor", "scores"))
    return graph.edata["scores"]


def nonzero(size: torch.Tensor) -> torch.Tensor:
    """`size`, with 1 where it is too small to divide by; features that are all zero have score 0 either way."""
    return torch.where(size > torch.finfo(size.dtype).tiny, size, torch.ones_like(size))


def _positive(kappa: float) -> float:
    if not 0 < kappa < math.inf:
        raise UsageError(f"kappa must be a positive number, got {kappa!r}.")
    return float(kappa)
