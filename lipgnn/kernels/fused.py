"""The attention step on the CPU in one compiled kernel (native/), forward and backward.

Nothing with a row for every edge is ever made: scores and weights are recomputed in backward from a few values of every
node and head. Results do not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import FunctionCtx, once_differentiable

from lipgnn.kernels import native
from lipgnn.kernels.adjacency import Adjacency
from lipgnn.kernels.steps import VECTOR_HEADS, AdditiveStep, DotProductStep, Step
from lipgnn.runtime import dgl

# The width from which vectors along the width are faster than along the heads (`lipgnn bench attention`).
_WIDE = 32


def obstacle(device: torch.device) -> str | None:
    """Why this kernel cannot be used on `device`; None if it can."""
    if device.type != "cpu":
        return f"the fused kernel is for the CPU and the device is {device.type}"
    return native.library()[1] or None


def heads_fastest(heads: int, width: int) -> bool:
    """Whether features are best laid out with the heads next to each other."""
    return heads in VECTOR_HEADS and width < _WIDE


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
) -> torch.Tensor:
    """y_i = Σ_j α_ij z_j + b with α_ij = softmax_j LeakyReLU(norm(a_l·z_j + a_r·z_i)), as in `lipgnn.nn.GATConv`.

    Parameters
    ----------
    z : (N, H, D), in memory with the heads or the width fastest.
    attn_l, attn_r : (1, H, D).
    kappa : κ of LipschitzNorm; None is no norm.
    negative_slope : of the LeakyReLU, at least 0.
    dropout, seed : on the attention weights; which are dropped depends on the seed, the edge and the head alone.
    bias : (H, D).

    Returns
    -------
    (N, H, D).
    """
    return _Additive.apply(z, attn_l, attn_r, bias, Adjacency.of(graph), kappa, negative_slope, dropout, seed)


def dot_product(
    graph: dgl.DGLGraph,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    kappa: float | None,
    dropout: float,
    seed: int,
) -> torch.Tensor:
    """y_i = Σ_j α_ij v_j with the scores q_i·k_j / √D, or those of `DotProductLipschitzNorm` per node.

    Parameters
    ----------
    query, key, value : (N, H, D), in memory with the heads or the width fastest.
    kappa, dropout, seed : as for `additive`.

    Returns
    -------
    (N, H, D).
    """
    return _DotProduct.apply(query, key, value, Adjacency.of(graph), kappa, dropout, seed)


def additive_spread(
    graph: dgl.DGLGraph,
    z: torch.Tensor,
    attn_l: torch.Tensor,
    attn_r: torch.Tensor,
    *,
    kappa: float | None,
    negative_slope: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Entropy −Σ_j α_ij log α_ij and largest weight max_j α_ij of the attention of `additive`, both (N, H)."""
    step = AdditiveStep(z, attn_l, attn_r, kappa, slope=negative_slope, dropout=0.0, seed=0)
    return step.spread(Adjacency.of(graph))


def dot_product_spread(
    graph: dgl.DGLGraph, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *, kappa: float | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same of the attention of `dot_product`."""
    return DotProductStep(query, key, value, kappa, dropout=0.0, seed=0).spread(Adjacency.of(graph))


class _Additive(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx,
        z: torch.Tensor,
        attn_l: torch.Tensor,
        attn_r: torch.Tensor,
        bias: torch.Tensor | None,
        adjacency: Adjacency,
        kappa: float | None,
        slope: float,
        dropout: float,
        seed: int,
    ) -> torch.Tensor:
        step = AdditiveStep(z, attn_l, attn_r, kappa, slope=slope, dropout=dropout, seed=seed)
        ctx.has_bias = bias is not None
        out = step.forward(adjacency, **({"bias": step.layout.rows(bias)} if ctx.has_bias else {}))
        _keep(ctx, step, adjacency)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad_out: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        layout, adjacency = ctx.layout, ctx.adjacency
        size, heads, nodes = layout.size, layout.padded, layout.nodes
        pieces = max(len(adjacency.incoming.pieces), len(adjacency.outgoing.pieces)) - 1
        grad_z, grad_attn, grad_bias = (grad_out.new_empty(*shape, size) for shape in ((nodes,), (2, 1), ()))
        native.call(
            "additive",
            "backward",
            grad_out.dtype,
            graph=adjacency,
            **_kept(ctx),
            **layout.room_for(grad_out),
            grad_right=grad_out.new_empty(nodes, heads),
            grad_length=grad_out.new_empty(nodes, 2, heads),
            grad_longest=grad_out.new_empty(heads, nodes),
            grad_z=grad_z,
            grad_attn=grad_attn,
            **({"grad_bias": grad_bias} if ctx.has_bias else {}),
            partial=grad_out.new_empty(pieces, 3 * size + heads),
        )
        grad_bias = layout.heads(grad_bias) if ctx.has_bias else None
        return layout.heads(grad_z), *layout.heads(grad_attn), grad_bias, None, None, None, None, None


class _DotProduct(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        adjacency: Adjacency,
        kappa: float | None,
        dropout: float,
        seed: int,
    ) -> torch.Tensor:
        step = DotProductStep(query, key, value, kappa, dropout=dropout, seed=seed)
        out = step.forward(adjacency)
        _keep(ctx, step, adjacency)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad_out: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        layout = ctx.layout
        nodes, heads = layout.nodes, layout.padded
        grads = [grad_out.new_empty(nodes, layout.size) for _ in range(3)]
        native.call(
            "dot_product",
            "backward",
            grad_out.dtype,
            graph=ctx.adjacency,
            **_kept(ctx),
            **layout.room_for(grad_out),
            grad_length=grad_out.new_empty(nodes, 2, heads),
            grad_longest=grad_out.new_empty(2, heads, nodes),
            **dict(zip(("grad_query", "grad_key", "grad_value"), grads, strict=True)),
        )
        return *(layout.heads(grad) for grad in grads), None, None, None, None


def _keep(ctx: FunctionCtx, step: Step, adjacency: Adjacency) -> None:
    ctx.layout, ctx.settings, ctx.adjacency, ctx.names = step.layout, step.settings, adjacency, tuple(step.kept)
    ctx.save_for_backward(*step.kept.values())


def _kept(ctx: FunctionCtx) -> dict[str, Any]:
    return {**ctx.settings, **dict(zip(ctx.names, ctx.saved_tensors, strict=True))}
