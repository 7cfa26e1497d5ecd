"""The attention step in Triton, for CUDA devices; on the CPU under TRITON_INTERPRET=1, slowly, to be tested."""

from __future__ import annotations

import math
import os

import torch

from lipgnn.errors import UsageError
from lipgnn.kernels.adjacency import Adjacency
from lipgnn.kernels.checks import check_additive, check_dot_product, check_numbers
from lipgnn.kernels.once import differentiable_once
from lipgnn.kernels.triton import pieces
from lipgnn.kernels.triton.attention import Attention
from lipgnn.kernels.triton.longest import Longest
from lipgnn.norms.lengths import nonzero, safe_length
from lipgnn.runtime import dgl


def obstacle(device: torch.device) -> str | None:
    """Why this kernel cannot be used on `device`; None if it can."""
    if pieces.triton is None:
        return "Triton is not installed (pip install 'lipgnn[triton]')"
    if device.type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
        return f"Triton needs a CUDA device, and the tensors are on {device.type} (TRITON_INTERPRET=1 emulates one)"
    return None


def heads_fastest(heads: int, width: int) -> bool:
    """Whether heads should lie next to each other in memory: no, programs read one head's row at a time."""
    return False


def additive(
    graph: dgl.DGLGraph,
    z: torch.Tensor,
    attn_l: torch.Tensor,
    attn_r: torch.Tensor,
    *,
    kappa: float | None,
    negative_slope: float,
    dropout: float,
    seed: int,
    bias: torch.Tensor | None = None,
    target: torch.Tensor | None = None,
    edge_weight: torch.Tensor | None = None,
) -> torch.Tensor:
    """Attention with additive scores, as in GAT.

        t_ij = a_l·z_j + a_r·z_i,   α_ij = softmax_{j∈N(i)} LeakyReLU(norm(t_ij)),   y_i = Σ_j α_ij z_j

    Parameters
    ----------
    z : (N, H, D), projected features.
    attn_l, attn_r : (1, H, D), the attention vectors.
    kappa : κ of LipschitzNorm; None for no norm.
    negative_slope : of the LeakyReLU, at least 0.
    dropout, seed : the share of attention weights that are dropped, and what says which.
    bias : (H, D), added to every row.
    target, edge_weight : other features of the targets, and weights of edges, which this kernel does not know.

    Returns
    -------
    (N, H, D); the bias alone for nodes without in-edges.
    """
    adjacency = _known(graph, target, edge_weight)
    check_additive(adjacency, z, None, attn_l, attn_r, bias, None)
    check_numbers(kappa=kappa, dropout=dropout, negative_slope=negative_slope)
    z = z.contiguous()
    right = (z * attn_r).sum(dim=-1, keepdim=True)  # (N, H, 1)
    left = (z * attn_l).sum(dim=-1, keepdim=True)
    attn_size = size = z.new_ones(1, z.shape[1], 1)
    if kappa is not None:
        length = _Length.apply(z)  # (N, H, 1)
        size = nonzero(_Length.apply(torch.cat([Longest.apply(length, adjacency), length], dim=-1)))
        attn_size = kappa * nonzero(safe_length(torch.cat([attn_l, attn_r], dim=-1)))  # (1, H, 1)
    out = Attention.apply(right, left, z, attn_size, size, adjacency, True, negative_slope, dropout, seed)
    return out if bias is None else out + bias


def dot_product(
    graph: dgl.DGLGraph,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    kappa: float | None,
    dropout: float,
    seed: int,
    edge_weight: torch.Tensor | None = None,
) -> torch.Tensor:
    """Attention with dot-product scores, as in the Graph Transformer.

        α_ij = softmax_{j∈N(i)} ( q_i·k_j / √D ),   y_i = Σ_j α_ij v_j

    or, with κ, the scores of `DotProductLipschitzNorm`.

    Parameters
    ----------
    query, key, value : (N, H, D).
    kappa : κ of DotProductLipschitzNorm; None for no norm.
    dropout, seed : the share of attention weights that are dropped, and what says which.
    edge_weight : which this kernel does not know.

    Returns
    -------
    (N, H, D); 0 for nodes without in-edges.
    """
    adjacency = _known(graph, edge_weight)
    check_dot_product(adjacency, query, key, value)
    check_numbers(kappa=kappa, dropout=dropout)
    query, key, value = (x.contiguous() for x in (query, key, value))
    key_size = query.new_ones(1, query.shape[1], 1)
    query_size = key_size * math.sqrt(query.shape[-1])
    if kappa is not None:
        u, v, w = (_Length.apply(x) for x in (query, key, value))  # (N, H, 1)
        v, w = Longest.apply(v, adjacency), Longest.apply(w, adjacency)
        # max{uv, uw, vw} is the product of the two largest of the three.
        key_size = nonzero(torch.maximum(v, w))
        query_size = kappa * nonzero(torch.maximum(u, torch.minimum(v, w)))
    return Attention.apply(query, key, value, query_size, key_size, adjacency, False, 1.0, dropout, seed)


def dynamic(graph: dgl.DGLGraph, *inputs: torch.Tensor, **options: object) -> torch.Tensor:
    """Attention with dynamic scores, as in GATv2, which this kernel does not know."""
    raise UsageError("The Triton kernel does not know the scores of GATv2.", "Use kernel='dgl' (--kernel dgl).")


def shared_product(graph: dgl.DGLGraph, *inputs: torch.Tensor, **options: object) -> torch.Tensor:
    """Attention whose heads share queries and keys, which this kernel does not know."""
    raise UsageError("The Triton kernel does not know shared heads.", "Use kernel='dgl' (--kernel dgl).")


def _known(graph: dgl.DGLGraph, *options: torch.Tensor | None) -> Adjacency:
    """The adjacency of a graph whose sources are its targets, if none of the options is given."""
    adjacency = Adjacency.of(graph)
    same = not graph.is_block and adjacency.num_sources == adjacency.num_targets
    if same and all(option is None for option in options):
        return adjacency
    raise UsageError(
        "The Triton kernel knows neither targets that are not the sources (message-flow graphs) nor edge weights.",
        "Use kernel='dgl' (--kernel dgl).",
    )


class _Length(torch.autograd.Function):
    """`safe_length`, but nothing of the size of x is kept beside x itself."""

    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        length = safe_length(x)
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    @differentiable_once
    def backward(ctx, grad: torch.Tensor) -> tuple[torch.Tensor]:
        x, length = ctx.saved_tensors
        return (x / nonzero(length) * grad,)
