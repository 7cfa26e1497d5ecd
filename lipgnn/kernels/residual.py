"""The end of every block, x + s·σ(y): for ELU on the CPU in one compiled pass instead of three."""

from __future__ import annotations

import torch
from torch import nn
from torch.autograd.function import FunctionCtx

from lipgnn.errors import DataError
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
    elu = type(activation) is nn.ELU and activation.alpha == 1
    # Under torch.autocast either may have any type.
    alike = y.dtype in native.FLOATS and (x is None or x.dtype == y.dtype)
    if elu and alike and implementation(kernel, y.device) is fused:
        return residual_elu(x, y, scale)
    activated = activation(y)
    activated = activated if scale == 1 else scale * activated
    return activated if x is None else x + activated


def residual_elu(x: torch.Tensor | None, y: torch.Tensor, scale: float) -> torch.Tensor:
    """x + scale · ELU(y) on the CPU; without x, scale · ELU(y).

    Parameters
    ----------
    x, y : of one shape and floating-point type.

    Raises
    ------
    DataError : x and y of different shapes or types.
    """
    if x is not None and (x.shape != y.shape or x.dtype != y.dtype or x.device != y.device):
        raise DataError(
            f"x and y must have one shape and type, and are {tuple(x.shape)} of {x.dtype} on {x.device} and "
            f"{tuple(y.shape)} of {y.dtype} on {y.device}.",
        )
    return _ResidualElu.apply(x, y, scale)


class _ResidualElu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: torch.Tensor | None, y: torch.Tensor, scale: float) -> torch.Tensor:
        ctx.save_for_backward(y)
        ctx.scale, ctx.adds = scale, x is not None
        added = {"x": x.contiguous()} if ctx.adds else {}
        return _run("forward", y.contiguous(), scale, **added)

    @staticmethod
    def backward(ctx: FunctionCtx, grad_out: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor, None]:
        (y,) = ctx.saved_tensors
        if torch.is_grad_enabled():
            # Gradients that will be differentiated again, in operations that torch can.
            slope = torch.where(y > 0, torch.ones_like(y), torch.exp(y.clamp(max=0)))
            return grad_out if ctx.adds else None, ctx.scale * grad_out * slope, None
        grad_y = _run("backward", y.contiguous(), ctx.scale, grad_out=grad_out.contiguous())
        return grad_out if ctx.adds else None, grad_y, None


def _run(direction: str, y: torch.Tensor, scale: float, **arrays: torch.Tensor) -> torch.Tensor:
    result = torch.empty_like(y)
    threads = torch.get_num_threads()
    native.call(
        "residual_elu", direction, y.dtype, size=y.numel(), threads=threads, scale=scale, y=y, result=result, **arrays
    )
    return result
