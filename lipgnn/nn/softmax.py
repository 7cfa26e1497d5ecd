"""The softmax over the in-edges of every node, that of DGL with second derivatives that are right."""

from __future__ import annotations

import torch
from torch.autograd.function import FunctionCtx

from lipgnn.runtime import dgl


def edge_softmax(graph: dgl.DGLGraph, scores: torch.Tensor) -> torch.Tensor:
    """α_ij = exp(s_ij) / Σ_k exp(s_ik) over the in-edges of every node, (E, …) → (E, …).

    DGL's on the CPU computes its gradient by code that cannot be differentiated, and says nothing when it is: what is
    lost is most of a second derivative. Here a gradient that will be differentiated again is written in operations
    that can be; any other is DGL's own, to the last bit.
    """
    return _EdgeSoftmax.apply(scores, graph)


class _EdgeSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, scores: torch.Tensor, graph: dgl.DGLGraph) -> torch.Tensor:
        with torch.enable_grad():
            inner = scores.detach().requires_grad_()
            ctx.inner = inner, dgl.nn.functional.edge_softmax(graph, inner)
        attention = ctx.inner[1].detach()
        ctx.graph = graph
        ctx.save_for_backward(attention)
        return attention

    @staticmethod
    def backward(ctx: FunctionCtx, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        if not torch.is_grad_enabled():
            inner, attention = ctx.inner
            return torch.autograd.grad(attention, inner, grad, retain_graph=True)[0], None
        (attention,) = ctx.saved_tensors
        weighted = attention * grad
        total = dgl.ops.copy_e_sum(ctx.graph, weighted)
        return weighted - dgl.ops.e_mul_v(ctx.graph, attention, total), None
