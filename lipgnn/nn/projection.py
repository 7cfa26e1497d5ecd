"""Linear maps of features by the product that comes with the kernel of the attention."""

from __future__ import annotations

import torch
from torch import nn

from lipgnn.kernels import affine


class Projection(nn.Linear):
    """`nn.Linear`, by the faster product where there is one (see `lipgnn.kernels.product`).

    Parameters
    ----------
    in_features, out_features, bias : as for `nn.Linear`.
    kernel : that of the attention; with the fused one comes the faster product.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, *, kernel: str = "auto"):
        super().__init__(in_features, out_features, bias=bias)
        self.kernel = kernel

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(…, F) → (…, D)."""
        return affine(x, self.weight, self.bias, self.kernel)


def project(
    own: nn.Linear,
    x: torch.Tensor,
    heads: int,
    *,
    heads_fastest: bool,
    kernel: str,
    bias: torch.Tensor | bool | None = True,
) -> torch.Tensor:
    """own(x) as (…, N, H, D), with another bias if one is given; with `heads_fastest` heads are neighbours in memory.

    The order is that of the weight's rows, which are few: no feature is moved.
    """
    weight, bias = own.weight, own.bias if bias is True else bias
    width = own.out_features // heads
    if not heads_fastest:
        return affine(x, weight, bias, kernel).unflatten(-1, (heads, width))
    weight = weight.unflatten(0, (heads, width)).transpose(0, 1).flatten(0, 1)
    bias = None if bias is None else bias.view(heads, width).t().flatten()
    return affine(x, weight, bias, kernel).unflatten(-1, (width, heads)).transpose(-1, -2)
