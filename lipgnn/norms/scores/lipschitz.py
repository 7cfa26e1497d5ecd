"""LipschitzNorm of additive scores, as the paper has it.

Reference: Dasoulas, Scaman & Virmaux, "Lipschitz Normalization for Self-Attention Layers with Application to
Graph Neural Networks", ICML 2021. The constants of `node_bound` are derived from its theorem; they are the
sharper form, without the factor √2 of the published lemma.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from lipgnn.catalog import ADDITIVE
from lipgnn.norms.bound import Bound
from lipgnn.norms.lengths import safe_length
from lipgnn.norms.scores.attention_bound import attention_bound, exp_inverse
from lipgnn.norms.scores.division import Ends, divide_by_lengths, length_over_heads, positive
from lipgnn.runtime import dgl


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

    attention = (ADDITIVE,)
    local = True
    keeps_statistics = False

    def __init__(self, *, kappa: float = 4.0, per_head: bool = True):
        super().__init__()
        self.kappa = positive(kappa)
        self.per_head = per_head

    def forward(self, graph: dgl.DGLGraph, scores: torch.Tensor, z: Ends, attn: torch.Tensor) -> torch.Tensor:
        """Divide the scores of all edges.

        Parameters
        ----------
        scores : (E, H, 1), raw scores t_ij.
        z : (N, H, D), projected features; a pair of those of sources and targets where these are not the same nodes.
        attn : (1, H, 2D), the attention vector a of every head.

        Returns
        -------
        (E, H, 1), scores within ±1/κ.
        """
        attn_length = safe_length(attn) if self.per_head else length_over_heads(attn)  # (1, H or 1, 1)
        return divide_by_lengths(graph, scores, z, attn_length, self.kappa)

    @property
    def fused(self) -> bool:
        """Whether fused kernels compute it: with a length for every head."""
        return self.per_head

    def certified(self, graph: dgl.DGLGraph) -> Bound:
        """The Lipschitz constant of one head's attention on `graph` in z, by the theorem."""
        return attention_bound(graph, self.node_bound)

    def node_bound(self, in_degrees: torch.Tensor) -> torch.Tensor:
        """L_i ≤ e^{1/κ}/√n_i + 2√2/κ: the Lipschitz constant of node i's attention in (z_j, z_i)."""
        return exp_inverse(self.kappa) * in_degrees.rsqrt() + 2 * math.sqrt(2) / self.kappa

    def extra_repr(self) -> str:
        return f"kappa={self.kappa}, per_head={self.per_head}"
