"""The softmax over the in-edges of every node, that of DGL with second derivatives that are right, and sums by it."""

from __future__ import annotations

import torch
from torch import nn
from torch.autograd.function import FunctionCtx

from lipgnn.runtime import dgl

fn = dgl.function


def edge_softmax(graph: dgl.DGLGraph, scores: torch.Tensor) -> torch.Tensor:
    """α_ij = exp(s_ij) / Σ_k exp(s_ik) over the in-edges of every node, (E, …) → (E, …).

    DGL's on the CPU computes its gradient by code that cannot be differentiated, and says nothing when it is: what is
    lost is most of a second derivative. Here a gradient that will be differentiated again is written in operations
    that can be; any other is DGL's own, to the last bit.
    """
    return _EdgeSoftmax.apply(scores, graph)


def aggregate(
    graph: dgl.DGLGraph,
    scores: torch.Tensor,
    value: torch.Tensor,
    dropout: nn.Module,
    edge_weight: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Softmax over the in-edges of every node, then the weighted sum of the sources' values.

    Parameters
    ----------
    scores : (E, H, 1).
    value : (N, H, D).
    dropout : applied to the attention weights.
    edge_weight : (E,), what they are multiplied by after that.

    Returns
    -------
    the sums, (M, H, D), and the attention weights after dropout and multiplied, (E, H, 1).
    """
    # Of the graph that it was given, on which the weights are not put: with them it would hold itself alive.
    attention = dropout(edge_softmax(graph, scores))
    if edge_weight is not None:
        attention = attention * edge_weight.view(-1, 1, 1)
    graph = graph.local_var()
    graph.srcdata["value"] = value
    graph.edata["attention"] = attention
    graph.update_all(fn.u_mul_e("value", "attention", "m"), fn.sum("m", "out"))
    return graph.dstdata["out"], attention


class _EdgeSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, scores: torch.Tensor, graph: dgl.DGLGraph) -> torch.Tensor:
        attention = dgl.nn.functional.edge_softmax(graph, scores)
        ctx.graph = graph
        ctx.save_for_backward(attention)
        return attention

    @staticmethod
    def backward(ctx: FunctionCtx, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        (attention,) = ctx.saved_tensors
        weighted = attention * grad
        if attention.is_cpu and not torch.is_grad_enabled():
            return dgl._sparse_ops._edge_softmax_backward(ctx.graph._graph, attention, weighted), None
        total = dgl.ops.copy_e_sum(ctx.graph, weighted)
        return weighted - dgl.ops.e_mul_v(ctx.graph, attention, total), None
