"""How evenly attention is spread."""

from __future__ import annotations

from typing import NamedTuple

import torch

from lipgnn.runtime import dgl


class Spread(NamedTuple):
    """How evenly the attention weights α_ij of every node and head are spread, (N, H) each.

    Attributes
    ----------
    entropy : −Σ_j α_ij log α_ij.
    largest : max_j α_ij; of no meaning where no edge enters.
    """

    entropy: torch.Tensor
    largest: torch.Tensor


def spread_of(graph: dgl.DGLGraph, weights: torch.Tensor) -> Spread:
    """The spread of attention weights (E, H), in float64."""
    weights = weights.double()
    entropy = dgl.ops.copy_e_sum(graph, -torch.xlogy(weights, weights))
    return Spread(entropy, dgl.ops.copy_e_max(graph, weights))
