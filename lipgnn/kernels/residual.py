"""The end of every block, x + s·σ(y): for ELU on the CPU in one compiled pass instead of three."""

from __future__ import annotations

import torch
from torch import nn
from torch.autograd.function import FunctionCtx, once_differentiable

from lipgnn.kernels import fused, native
from lipgnn.kernels.choice import implementation


def add_activated(
    x: torch.Tensor | None, activation: nn.Module, y: torch.Tensor, scale: float, kernel: str
) -> torch.Tensor:
    """x + scale · activation(y); without x, scale · activation(y).

    Parameters
    ----------
    kernel : "auto", "dgl", "fused" or "triton"; the fused one has a fused ELU.
    """
    if type(activation) is nn.ELU and activation.alpha == 1 and implementation(kernel, y.device) is fused:
        return residual_elu(x, y, scale)
    activated = activation(y)
    activated = activated if scale == 1 else scale * activated
    return activated if x is None else x + activated


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
