"""How scores are divided by lengths of features of any size, exactly and with gradients.

Every quantity is first divided by its own detached magnitude, so nothing is squared or multiplied that could overflow,
and where a whole neighbourhood is zero the divisor is 1.
"""

from __future__ import annotations

import math

import torch

from lipgnn.errors import UsageError
from lipgnn.norms.lengths import nonzero, safe_length
from lipgnn.runtime import dgl

fn = dgl.function


Ends = torch.Tensor | tuple[torch.Tensor, torch.Tensor]
"""Features of all nodes, or a pair of those of sources and targets where these are not the same nodes."""


def lengths_of(z: Ends) -> tuple[torch.Tensor, torch.Tensor]:
    """‖z‖ of sources, (N, H, 1), and of targets, (M, H, 1)."""
    if isinstance(z, torch.Tensor):
        length = safe_length(z)
        return length, length
    source, target = z
    return safe_length(source), safe_length(target)


def longest_neighbour(graph: dgl.DGLGraph, length: torch.Tensor, *, of_edges: bool = False) -> torch.Tensor:
    """Maximum of `length` (N, H, 1), or (E, H, 1) of edges, over what enters every node; 0 where nothing does."""
    if of_edges and not graph.num_edges():
        # DGL has a gradient for none, and looks for an edge to give it to.
        return length.new_zeros(graph.num_dst_nodes(), *length.shape[1:])
    longest = (dgl.ops.copy_e_max if of_edges else dgl.ops.copy_u_max)(graph, length)
    # For a node without in-edges DGL gives -inf, and sends its gradient to node 0.
    has_neighbours = (graph.in_degrees() > 0).view(-1, 1, 1)
    return torch.where(has_neighbours, longest, torch.zeros_like(longest))


def length_over_heads(attn: torch.Tensor) -> torch.Tensor:
    """‖a‖ over all heads together, (1, H, D) → (1, 1, 1)."""
    return safe_length(attn.flatten(1)).unsqueeze(-1)


def divide(graph: dgl.DGLGraph, scores: torch.Tensor, factor: torch.Tensor, divisor: torch.Tensor) -> torch.Tensor:
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


def divide_by_lengths(
    graph: dgl.DGLGraph, scores: torch.Tensor, z: Ends, attn_length: torch.Tensor, kappa: float
) -> torch.Tensor:
    """scores / ( κ · ‖a‖ · sqrt( max_{j∈N(i)} ‖z_j‖² + ‖z_i‖² ) ) on every edge.

    Parameters
    ----------
    scores : (E, H, 1).
    z : (N, H, D); a pair of that of sources and that of targets where these are not the same.
    attn_length : ‖a‖, (1, H or 1, 1).
    """
    source, length = lengths_of(z)
    longest = longest_neighbour(graph, source)  # (M, H, 1), max over j of ‖z_j‖
    size = nonzero(torch.maximum(longest, length).detach())
    ratio = (longest / size).square() + (length / size).square()  # in [1, 2], or 0 where all is zero
    attn_length = nonzero(attn_length)
    attn_size = attn_length.detach()
    divisor = kappa * (attn_length / attn_size) * nonzero(ratio).sqrt()
    return divide(graph, scores, (1 / size) * (1 / attn_size), divisor)


def positive(kappa: float) -> float:
    """κ as a number, which has to be positive and finite."""
    if not 0 < kappa < math.inf:
        raise UsageError(f"kappa must be a positive number, got {kappa!r}.")
    return float(kappa)
