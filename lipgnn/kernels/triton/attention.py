"""Attention with its gradient: the passes, and what is kept between them."""

from __future__ import annotations

import torch

from lipgnn.kernels.adjacency import Adjacency
from lipgnn.kernels.once import differentiable_once
from lipgnn.kernels.triton.passes import backward_sources, backward_targets, forward
from lipgnn.kernels.triton.pieces import edges_together, on_device, padded


class Attention(torch.autograd.Function):
    """y of shape (N, H, D), from query and key (N, H, W), value x (N, H, D), and the divisors u and v.

    The divisors are of shape (N, H, 1), or (1, H, 1) where all nodes have the same. Additive scores have W = 1.
    """

    @staticmethod
    def forward(
        ctx,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        query_size: torch.Tensor,
        key_size: torch.Tensor,
        adjacency: Adjacency,
        additive: bool,
        slope: float,
        dropout: float,
        seed: int,
    ) -> torch.Tensor:
        tensors = [tensor.contiguous() for tensor in (query, key, value, query_size, key_size)]
        nodes, heads, width = value.shape
        wide = query.shape[-1]
        ctx.adjacency, ctx.seed = adjacency, seed
        ctx.constants = {
            "H": heads,
            "W": wide,
            "D": width,
            "QUERY_STEP": 0 if len(query_size) == 1 else heads,
            "KEY_STEP": 0 if len(key_size) == 1 else heads,
            "ADDITIVE": additive,
            "SLOPE": slope,
            "DROPPED": int(dropout * 2**32),
            "GAIN": 1 / (1 - dropout) if dropout < 1 else 0.0,
            "WIDE": padded(wide),
            "BROAD": padded(width),
            "EDGES": edges_together(wide, width),
            # Most nodes have few edges: more warps would have nothing to do.
            "num_warps": 1,
        }
        out = torch.empty_like(tensors[2])
        highest, inverse = (out.new_empty(nodes, heads) for _ in range(2))
        edges = adjacency.incoming
        with on_device(out):
            forward[(nodes, heads)](
                *tensors, edges.start, edges.other, edges.edge_id, seed, out, highest, inverse, **ctx.constants
            )
        ctx.save_for_backward(*tensors, highest, inverse)
        return out

    @staticmethod
    @differentiable_once
    def backward(ctx, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        *tensors, highest, inverse = ctx.saved_tensors
        query, key, value, query_size, key_size = tensors
        grad = grad.contiguous()
        base, mean = torch.empty_like(highest), torch.empty_like(highest)
        grad_query, grad_key, grad_value = (torch.empty_like(tensor) for tensor in (query, key, value))
        grad_size = torch.empty_like(highest).unsqueeze(-1)  # (N, H, 1), by the logarithm of either divisor
        into, out_of = ctx.adjacency.incoming, ctx.adjacency.outgoing
        grid, given = highest.shape, (ctx.seed, highest, inverse, grad, base, mean)
        with on_device(grad):
            backward_targets[grid](
                *tensors, into.start, into.other, into.edge_id, *given, grad_query, grad_size, **ctx.constants
            )
            backward_sources[grid](
                *tensors, out_of.start, out_of.other, out_of.edge_id, *given, grad_key, grad_value, **ctx.constants
            )
        sizes = ((grad_size / size).sum_to_size(size.shape) for size in (query_size, key_size))
        return grad_query, grad_key, grad_value, *sizes, None, None, None, None, None
