"""The attention step on the CPU in one compiled kernel (native/), forward and backward.

Nothing with a row for every edge is ever made: scores and weights are recomputed in backward from a few values of every
node and head. Results do not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import FunctionCtx, once_differentiable

from lipgnn.errors import UsageError
from lipgnn.kernels import native
from lipgnn.kernels.adjacency import Adjacency
from lipgnn.runtime import dgl

# Exponentials of scores up to this size can be summed in float32 without taking off the largest score first.
_SAFE_SCORE = 60.0
# Heads that fill one vector, and the width from which vectors along the width are faster (`lipgnn bench attention`).
_VECTOR_HEADS = (4, 8)
_WIDE = 32
# The compiled kernel has room for the values of so many (WidthFastest in native/rows.h).
MOST_HEADS = 1024


def obstacle(device: torch.device) -> str | None:
    """Why this kernel cannot be used on `device`; None if it can."""
    if device.type != "cpu":
        return f"the fused kernel is for the CPU and the device is {device.type}"
    return native.library()[1] or None


def heads_fastest(heads: int, width: int) -> bool:
    """Whether features are best laid out with the heads next to each other."""
    return heads in _VECTOR_HEADS and width < _WIDE


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
        layout = _Layout(z)
        attn = torch.stack([layout.rows(attn_l), layout.rows(attn_r)])
        nodes, heads = layout.nodes, layout.padded
        ctx.settings = layout.settings(kappa, slope=slope, dropout=dropout, seed=seed)
        kept = {
            "z": layout.rows(z),
            "attn": attn,
            "source": z.new_empty(nodes, 2, heads),
            "target": z.new_empty(nodes, 3 + ctx.settings["normalize"] + 2 * ctx.settings["shift"], heads),
        }
        if kappa:
            kept["attn_length"] = z.new_empty(heads)
            kept["longest_length"] = z.new_empty(nodes, heads)
            kept["longest"] = z.new_empty(nodes, heads, dtype=torch.int32)
        ctx.layout, ctx.adjacency, ctx.names = layout, adjacency, tuple(kept)
        ctx.has_bias = bias is not None
        added = {"bias": layout.rows(bias)} if ctx.has_bias else {}
        out = z.new_empty(z.shape)
        native.call("additive", "forward", z.dtype, graph=adjacency, **ctx.settings, **kept, **added, out=out)
        ctx.save_for_backward(*kept.values())
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
            **ctx.settings,
            **dict(zip(ctx.names, ctx.saved_tensors, strict=True)),
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
        layout = _Layout(query)
        nodes, heads = layout.nodes, layout.padded
        ctx.settings = layout.settings(kappa, dropout=dropout, seed=seed)
        kept = {
            "query": layout.rows(query),
            "key": layout.rows(key),
            "value": layout.rows(value),
            "target": query.new_empty(nodes, 2 + 2 * ctx.settings["normalize"] + 2 * ctx.settings["shift"], heads),
        }
        if kappa:
            kept["length"] = query.new_empty(nodes, 3, heads)
            kept["longest_length"] = query.new_empty(nodes, 2, heads)
            kept["longest"] = query.new_empty(nodes, 2, heads, dtype=torch.int32)
        ctx.layout, ctx.adjacency, ctx.names = layout, adjacency, tuple(kept)
        out = query.new_empty(query.shape)
        native.call("dot_product", "forward", query.dtype, graph=adjacency, **ctx.settings, **kept, out=out)
        ctx.save_for_backward(*kept.values())
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
            **ctx.settings,
            **dict(zip(ctx.names, ctx.saved_tensors, strict=True)),
            **layout.room_for(grad_out),
            grad_length=grad_out.new_empty(nodes, 2, heads),
            grad_longest=grad_out.new_empty(2, heads, nodes),
            **dict(zip(("grad_query", "grad_key", "grad_value"), grads, strict=True)),
        )
        return *(layout.heads(grad) for grad in grads), None, None, None, None


class _Layout:
    """How features (N, H, D) lie in memory, and the same order for what belongs to them."""

    def __init__(self, features: torch.Tensor):
        self.nodes, self.num_heads, self.width = features.shape
        if self.num_heads > MOST_HEADS:
            raise UsageError(
                f"The fused kernel takes up to {MOST_HEADS} heads, got {self.num_heads}.", "Use --kernel dgl."
            )
        self.size = self.num_heads * self.width
        lies_so = self.num_heads in _VECTOR_HEADS and features.transpose(1, 2).is_contiguous()
        self.heads_fastest = lies_so and not features.is_contiguous()
        # Values of heads are computed in vectors of four or eight.
        self.padded = 4 if self.num_heads <= 4 else -(-self.num_heads // 8) * 8

    def rows(self, features: torch.Tensor) -> torch.Tensor:
        """(…, H, D) → rows (…, H·D) in the order of memory."""
        features = features.transpose(-1, -2) if self.heads_fastest else features
        return features.contiguous().flatten(-2)

    def heads(self, rows: torch.Tensor) -> torch.Tensor:
        """Rows (…, H·D) → (…, H, D), without moving anything."""
        if self.heads_fastest:
            return rows.unflatten(-1, (self.width, self.num_heads)).transpose(-1, -2)
        return rows.unflatten(-1, (self.num_heads, self.width))

    def settings(self, kappa: float | None, **numbers: Any) -> dict[str, Any]:
        """The sizes and switches of a call, with further numbers."""
        bounded = kappa is not None and 1 / kappa <= _SAFE_SCORE
        return {
            "heads": self.num_heads,
            "width": self.width,
            "heads_fastest": self.heads_fastest,
            "normalize": kappa is not None,
            "shift": not bounded,
            "kappa": kappa or 0.0,
            **numbers,
        }

    def room_for(self, grad_out: torch.Tensor) -> dict[str, torch.Tensor]:
        """The gradient that comes in, and room for it in the order of memory where that is another."""
        grad_out = grad_out.contiguous()
        return {"grad_out": grad_out, "grad_rows": torch.empty_like(grad_out) if self.heads_fastest else grad_out}
