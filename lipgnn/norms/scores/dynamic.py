"""LipschitzNorm of dynamic scores, those of GATv2: an extension of ours, which is in no paper."""

from __future__ import annotations

import math

import torch
from torch import nn

from lipgnn.catalog import DYNAMIC
from lipgnn.norms.bound import Bound
from lipgnn.norms.lengths import safe_length
from lipgnn.norms.scores.attention_bound import attention_bound, exp_inverse
from lipgnn.norms.scores.division import divide_by_lengths, positive
from lipgnn.runtime import dgl


class DynamicLipschitzNorm(nn.Module):
    """Normalize dynamic scores e_ij = a·φ(k_j + q_i), as in GATv2, where k_j is also what is added up.

        ê_ij = e_ij / (κ c_i),   c_i = √2 ‖a‖ sqrt( max_{j∈N(i)} ‖k_j‖² + ‖q_i‖² )

    for φ a LeakyReLU of slope at most 1. The paper (Dasoulas, Scaman & Virmaux, ICML 2021) has no such norm; its
    theorem asks for one number c_i a node and three conditions, which hold with α = 1/κ, since φ(0) = 0 and
    ‖Dφ‖ ≤ 1 [D, derived here]:

    1. |e_ij| ≤ ‖a‖ ‖k_j + q_i‖ ≤ √2 ‖a‖ sqrt(‖k_j‖² + ‖q_i‖²) ≤ c_i.
    2. A change (δk, δq) of length 1 changes e_ij by at most ‖a‖ ‖δk_j + δq_i‖ ≤ √2 ‖a‖; that times the longest
       ‖k_j‖ is at most c_i.
    3. c_i is √2 ‖a‖ times the length of (max_j ‖k_j‖, ‖q_i‖), which changes by at most 1 with such a change, so
       max_j ‖k_j‖ · |Dc_i| · |e_ij| ≤ c_i².

    So |ê_ij| ≤ 1/κ, and attention is Lipschitz with the constant of `node_bound`. A number that is added to all k_j,
    and taken from q_i, changes no score, and shifts the output alone: a bias of the values is best left to q_i.

    Parameters
    ----------
    kappa : κ > 0; larger values give flatter attention.
    shared : whether k and q are the same features of the nodes, a change of which is then felt twice by a node that is
        its own neighbour.
    """

    attention = (DYNAMIC,)
    local = True
    keeps_statistics = False
    fused = True

    def __init__(self, *, kappa: float = 4.0, shared: bool = False):
        super().__init__()
        self.kappa = positive(kappa)
        self.shared = shared

    def forward(
        self, graph: dgl.DGLGraph, scores: torch.Tensor, z: tuple[torch.Tensor, torch.Tensor], attn: torch.Tensor
    ) -> torch.Tensor:
        """Divide the scores of all edges.

        Parameters
        ----------
        scores : (E, H, 1), raw scores e_ij.
        z : k_j of the sources, (N, H, D), and q_i of the targets, (M, H, D).
        attn : (1, H, D), the attention vector a of every head.

        Returns
        -------
        (E, H, 1), scores within ±1/κ.
        """
        return divide_by_lengths(graph, scores, z, safe_length(attn), math.sqrt(2) * self.kappa)

    def certified(self, graph: dgl.DGLGraph) -> Bound:
        """The Lipschitz constant of one head's attention on `graph`, in (k, q), or in both at once if shared.

        Node i stretches a change by L_i at most, so all together (Σ_i L_i² (Σ_{j∈N(i)} ‖δk_j‖² + ‖δq_i‖²))^½; the
        constant of `attention_bound` is at least that of the change of any one k_j, and of any one q_i.
        """
        return attention_bound(graph, self.node_bound)

    def node_bound(self, in_degrees: torch.Tensor) -> torch.Tensor:
        """L_i ≤ e^{1/κ}/√n_i + 2/κ in (k_j, q_i); 2√2/κ in place of 2/κ if these are shared.

        The first part is that of the values at fixed weights, of which each is at most e^{2/κ}/n_i. The second is that
        of the weights: the covariance of values and scores under them, at most max_j ‖k_j‖ · max_j |Dê_ij|, where
        Dê = De/(κc) − e Dc/(κc²) is at most 2/κ over the longest k_j, by the conditions.
        """
        of_scores = 2 * math.sqrt(2) if self.shared else 2
        return exp_inverse(self.kappa) * in_degrees.rsqrt() + of_scores / self.kappa

    def extra_repr(self) -> str:
        return f"kappa={self.kappa}, shared={self.shared}"
