"""Gradients that have none of their own: whoever asks for second derivatives is told, and never given a part."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.function import FunctionCtx

from lipgnn.errors import UsageError

Backward = Callable[..., tuple[torch.Tensor | None, ...]]


FUSED = UsageError(
    "Fused kernels have no second derivatives, and one was asked for.",
    "Make the layers with kernel='dgl' (--kernel dgl), which has them.",
)


def differentiable_once(backward: Backward, refusal: UsageError = FUSED) -> Backward:
    """The backward of a function whose gradients cannot be differentiated again.

    torch's `once_differentiable` marks gradients only where the one that comes in has a gradient itself, and hangs them
    on nothing: `autograd.grad` of a loss that is linear in the output, or of a sum in which something else flows past
    the function, then leaves out its part without a word. Here gradients hang on everything that they depend on, which
    is the gradient that comes in and the inputs that forward saved; to go there raises.

    Parameters
    ----------
    backward : as of a torch.autograd.Function, whose forward has saved its inputs or outputs themselves.
    refusal : what is raised.
    """

    @functools.wraps(backward)
    def wrapped(ctx: FunctionCtx, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        with torch.no_grad():
            found = backward(ctx, *grads)
        if not torch.is_grad_enabled():
            return found
        tensors = [grad for grad in found if grad is not None]
        others = [tensor for tensor in (*grads, *ctx.saved_tensors) if tensor is not None]
        marked = iter(_Once.apply(refusal, len(tensors), *tensors, *others))
        return tuple(None if grad is None else next(marked) for grad in found)

    return wrapped


class _Once(torch.autograd.Function):
    """The first `count` tensors as they are, depending on all the others."""

    @staticmethod
    def forward(ctx: FunctionCtx, refusal: UsageError, count: int, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.refusal = refusal
        return tuple(tensor.view_as(tensor) for tensor in tensors[:count])

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Any) -> None:
        raise UsageError(ctx.refusal.message, ctx.refusal.hint)
