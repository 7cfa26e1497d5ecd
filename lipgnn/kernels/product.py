"""Linear maps of features on the CPU, at twice the speed where torch's own leave half of the processor unused.

Torch multiplies matrices by MKL, which takes the long vectors (AVX-512) of Intel's processors alone. oneDNN, which is
in torch too, takes those of all. Both add up the same products, for up to a few hundred of them in the same order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import nn
from torch.autograd.function import FunctionCtx

from lipgnn.kernels import fused, native
from lipgnn.kernels.checks import autocasting
from lipgnn.kernels.choice import implementation

Product = Callable[[torch.Tensor, torch.Tensor, torch.Tensor | None], torch.Tensor]
"""x, W, b ↦ x Wᵀ + b."""

# Below so many multiplications the way there costs more than is gained.
_WORTHWHILE = 1 << 21


def affine(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, kernel: str) -> torch.Tensor:
    """x Wᵀ + b, as `torch.nn.functional.linear`, in derivatives of any order too.

    Parameters
    ----------
    x : (…, F).
    weight, bias : (D, F) and (D,).
    kernel : "auto", "dgl", "fused" or "triton"; with the fused one comes the faster product.
    """
    if x.dim() > 2:
        return affine(x.flatten(0, -2), weight, bias, kernel).unflatten(0, x.shape[:-1])
    alike = x.dtype is weight.dtype is torch.float32 and x.dim() == 2 and not autocasting("cpu")
    if alike and x.numel() * len(weight) >= _WORTHWHILE and implementation(kernel, x.device) is fused:
        product = faster_product()
        if product is not None:
            return _Affine.apply(product, x, weight, bias)
    return nn.functional.linear(x, weight, bias)


@functools.cache
def faster_product() -> Product | None:
    """That of oneDNN where it is the faster one, else None."""
    long_vectors = torch.backends.cpu.get_cpu_capability() == "AVX512" and torch.backends.mkldnn.is_available()
    return _onednn if long_vectors and not native.made_by_intel() and _has_onednn() else None


def _has_onednn() -> bool:
    """Whether this torch has the operation, which is not among those that it promises to keep."""
    try:
        found = _onednn(torch.ones(1, 2, device="cpu"), torch.ones(3, 2, device="cpu"), None)
    except (AttributeError, RuntimeError, TypeError):
        return False
    return found.tolist() == [[2.0, 2.0, 2.0]]


def _onednn(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


class _Affine(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, product: Product, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None
    ) -> torch.Tensor:
        ctx.product = product
        ctx.save_for_backward(x, weight)
        return product(x, weight, bias)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        _, of_x, of_weight, of_bias = ctx.needs_input_grad
        grad_x = _Affine.apply(ctx.product, grad, weight.t(), None) if of_x else None
        # A sum over all rows, which oneDNN leaves to one thread.
        alone = torch.get_num_threads() == 1
        grad_weight = None
        if of_weight:
            grad_weight = _Affine.apply(ctx.product, grad.t(), x.t(), None) if alone else grad.t() @ x
        return None, grad_x, grad_weight, grad.sum(0) if of_bias else None
