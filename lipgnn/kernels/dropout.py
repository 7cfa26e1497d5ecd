"""Dropout of features on the CPU in one compiled pass; torch's own draws its mask one number after the other."""

from __future__ import annotations

import torch
from torch.autograd.function import FunctionCtx

from lipgnn.errors import UsageError
from lipgnn.kernels import native


def drop(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """x with every entry zero with probability p, and divided by 1 − p otherwise.

    Which entries are zero depends on the seed alone, not on the number of threads. No mask is kept for the way back,
    and derivatives of any order are those of a product with the mask.

    Parameters
    ----------
    x : float32 or float64, on the CPU, of any shape.
    p : at least 0 and below 1.
    seed : 64 bits.

    Raises
    ------
    UsageError : p outside its limits, or a type that is not computed in.
    """
    if not 0 <= p < 1:
        raise UsageError(f"p must be at least 0 and below 1, got {p!r}.")
    return _Drop.apply(x, p, seed)


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
        ctx.p, ctx.seed = p, seed
        x = x.contiguous()
        result = torch.empty_like(x)
        threads = torch.get_num_threads()
        native.call(
            "feature_dropout", "forward", x.dtype, size=x.numel(), threads=threads, p=p, seed=seed, x=x, result=result
        )
        return result

    @staticmethod
    def backward(ctx: FunctionCtx, grad: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return _Drop.apply(grad, ctx.p, ctx.seed), None, None
