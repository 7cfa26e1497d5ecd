"""BatchNorm with the ReLU behind it on the CPU: two compiled passes forward and two back, instead of three and five."""

from __future__ import annotations

import torch
from torch import nn
from torch.autograd.function import FunctionCtx

from lipgnn.kernels import fused, native
from lipgnn.kernels.choice import implementation
from lipgnn.norms import BatchNorm


def rectifies(norm: nn.Module | None, activation: nn.Module, x: torch.Tensor, kernel: str) -> bool:
    """Whether `rectified` is what the norm and then the activation make of x, in the mode that they are in.

    Parameters
    ----------
    kernel : "auto", "dgl", "fused" or "triton"; with the fused one come these passes.
    """
    if type(norm) is not BatchNorm or type(norm.norm) is not nn.BatchNorm1d or type(activation) is not nn.ReLU:
        return False
    if implementation(kernel, x.device) is not fused:
        return False
    own = norm.norm
    alike = x.dtype is own.weight.dtype and x.dtype in native.FLOATS and x.dim() == 2
    # In evaluation it is a map of its own, whose gradients are left to torch.
    return alike and len(x) > 1 and (own.training or not torch.is_grad_enabled())


def rectified(norm: nn.BatchNorm1d, x: torch.Tensor) -> torch.Tensor:
    """ReLU(norm(x)) of rows (N, W), with the running statistics changed in training, as torch does.

    Sums are in double precision over pieces of rows, in the same order at any number of threads. In derivatives of
    higher orders torch's own operations take part.
    """
    if norm.training:
        norm.num_batches_tracked.add_(1)
        return _Rectified.apply(x, norm.weight, norm.bias, norm)
    return _forward(x.contiguous(), norm.weight, norm.bias, norm)[0]


class _Rectified(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, norm: nn.BatchNorm1d
    ) -> torch.Tensor:
        out, mean, inverse = _forward(x.contiguous(), weight, bias, norm)
        ctx.save_for_backward(x, weight, bias, out, mean, inverse)
        ctx.eps = norm.eps
        return out

    @staticmethod
    def backward(ctx: FunctionCtx, grad_out: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x, weight, bias, out, mean, inverse = ctx.saved_tensors
        if torch.is_grad_enabled():
            # Gradients that will be differentiated again, in operations that torch can.
            again = nn.functional.batch_norm(x, None, None, weight, bias, training=True, eps=ctx.eps).relu()
            inputs = [tensor for tensor in (x, weight, bias) if tensor.requires_grad]
            found = iter(torch.autograd.grad(again, inputs, grad_out, create_graph=True))
            return *(next(found) if tensor.requires_grad else None for tensor in (x, weight, bias)), None
        grads = {"grad_x": torch.empty_like(out), "grad_weight": torch.empty_like(mean)}
        grads["grad_bias"] = torch.empty_like(mean)
        given = {"x": x.contiguous(), "weight": weight, "mean": mean, "inverse": inverse, "out": out}
        _run("backward", out, ctx.eps, 0.0, training=True, **given, grad_out=grad_out.contiguous(), **grads)
        return *grads.values(), None


def _forward(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, norm: nn.BatchNorm1d
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The output, and the mean and the inverse of the deviation of every channel."""
    out, mean, inverse = torch.empty_like(x), torch.empty_like(weight), torch.empty_like(weight)
    found = {"out": out, "mean": mean, "inverse": inverse}
    running = {"running_mean": norm.running_mean, "running_var": norm.running_var}
    given = {"x": x, "weight": weight.detach(), "bias": bias.detach()}
    _run("forward", out, norm.eps, norm.momentum, training=norm.training, **given, **running, **found)
    return out, mean, inverse


def _run(
    direction: str, like: torch.Tensor, eps: float, momentum: float, *, training: bool, **arrays: torch.Tensor
) -> None:
    rows, width = like.shape
    sizes = {"rows": rows, "width": width, "threads": torch.get_num_threads(), "training": training}
    native.call("batch_norm", direction, like.dtype, **sizes, eps=eps, momentum=momentum, **arrays)
