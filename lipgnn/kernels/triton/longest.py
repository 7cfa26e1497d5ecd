"""The longest neighbour of every node, with its gradient."""

from __future__ import annotations

import torch

from lipgnn.kernels.adjacency import Adjacency
from lipgnn.kernels.once import differentiable_once
from lipgnn.kernels.triton.pieces import on_device, program, tl

_CONSTANTS = {"EDGES": 32, "num_warps": 1}


class Longest(torch.autograd.Function):
    """Maximum of lengths ≥ 0 (N, H, 1) over the in-neighbours of every node; 0 where there are none.

    The gradient goes to the first neighbour that is longest, as it does in DGL. It is collected by the sources and not
    scattered by the targets: additions in no certain order would differ from run to run.
    """

    @staticmethod
    def forward(ctx, length: torch.Tensor, adjacency: Adjacency) -> torch.Tensor:
        length = length.contiguous()
        nodes, heads, _ = length.shape
        longest = torch.empty_like(length)
        which = torch.empty((nodes, heads), dtype=torch.int32, device=length.device)
        edges = adjacency.incoming
        with on_device(length):
            _forward[(nodes, heads)](length, edges.start, edges.other, longest, which, H=heads, **_CONSTANTS)
        ctx.save_for_backward(which)
        ctx.edges = adjacency.outgoing
        return longest

    @staticmethod
    @differentiable_once
    def backward(ctx, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        (which,) = ctx.saved_tensors
        grad = grad.contiguous()
        grad_length = torch.empty_like(grad)
        start, target = ctx.edges.start, ctx.edges.other
        with on_device(grad):
            _backward[which.shape](grad, which, start, target, grad_length, H=which.shape[1], **_CONSTANTS)
        return grad_length, None


@program
def _forward(length, start, source, longest, longest_source, H: tl.constexpr, EDGES: tl.constexpr):
    """The largest `length` ≥ 0 among the sources of one target, and the first source that has it; 0 and −1 for none."""
    node, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    best = tl.full((), -1, length.dtype.element_ty)
    best_source = tl.full((), -1, tl.int32)
    end = tl.load(start + node + 1)
    for begin in range(tl.load(start + node), end, EDGES):
        edge = begin + tl.arange(0, EDGES)
        here = edge < end
        sources = tl.load(source + edge, mask=here, other=0)
        lengths = tl.load(length + sources.to(tl.int64) * H + head, mask=here, other=-1)
        at = tl.arange(0, EDGES) == tl.argmax(lengths, axis=0)
        highest = tl.max(lengths, axis=0)
        best_source = tl.where(highest > best, tl.sum(tl.where(at, sources, 0), axis=0), best_source)
        best = tl.maximum(best, highest)
    tl.store(longest + node * H + head, tl.maximum(best, 0))
    tl.store(longest_source + node * H + head, best_source)


@program
def _backward(grad, longest_source, start, target, grad_length, H: tl.constexpr, EDGES: tl.constexpr):
    """Σ of `grad` over the targets that have this node as their longest source."""
    node, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    total = tl.full((), 0, grad.dtype.element_ty)
    first, end = tl.load(start + node), tl.load(start + node + 1)
    for begin in range(first, end, EDGES):
        edge = begin + tl.arange(0, EDGES)
        here = edge < end
        targets = tl.load(target + edge, mask=here, other=-1)
        # Repeated edges lie side by side; the maximum was one of them, and counts once.
        before = tl.load(target + edge - 1, mask=here & (edge > first), other=-1)
        rows = targets.to(tl.int64) * H + head
        chosen = here & (targets != before)
        chosen &= tl.load(longest_source + rows, mask=chosen, other=-1) == node
        total += tl.sum(tl.load(grad + rows, mask=chosen, other=0), axis=0)
    tl.store(grad_length + node * H + head, total)
