"""The end of every block, x + s·ELU(y), in one compiled pass instead of three."""

from __future__ import annotations

import torch
from torch.autograd.function import FunctionCtx, once_differentiable

from lipgnn.kernels import native


def residual_elu(x: torch.Tensor | None, y: torch.Tensor, scale: float) -> torch.Tensor:
    """x + scale · ELU(y) on the CPU; without x, scale · ELU(y).

    Parameters
    ----------
    x, y : of one shape and floating-point type.
    """
    return _ResidualElu.apply(x, y, scale)


class _ResidualElu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: torch.Tensor | None, y: torch.Tensor, scale: float) -> torch.Tensor:
        y = y.contiguous()
        ctx.save_for_backward(y)
        ctx.scale, ctx.adds = scale, x is not None
        added = {"x": x.contiguous()} if ctx.adds else {}
        return _run("forward", y, scale, **added)

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad_out: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor, None]:
        (y,) = ctx.saved_tensors
        grad_y = _run("backward", y, ctx.scale, grad_out=grad_out.contiguous())
        return grad_out if ctx.adds else None, grad_y, None


def _run(direction: str, y: torch.Tensor, scale: float, **arrays: torch.Tensor) -> torch.Tensor:
    result = torch.empty_like(y)
    threads = torch.get_num_threads()
    native.call(
        "residual_elu", direction, y.dtype, size=y.numel(), threads=threads, scale=scale, y=y, result=result, **arrays
    )
    return result
