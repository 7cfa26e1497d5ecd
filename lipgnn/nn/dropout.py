"""Dropout of features, by the compiled kernel where that is to be had."""

from __future__ import annotations

import torch
from torch import nn

from lipgnn.kernels import fused, implementation
from lipgnn.kernels.dropout import drop
from lipgnn.kernels.native import FLOATS


class FeatureDropout(nn.Dropout):
    """`nn.Dropout` for the features of a network, with other random numbers where a kernel draws them.

    Parameters
    ----------
    p : the share of entries that become zero in training.
    kernel : that of the attention; with the fused one comes a fused dropout, seeded from torch's generator.
    """

    def __init__(self, p: float, kernel: str = "auto"):
        super().__init__(p)
        self.kernel = kernel

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Entries of x, of any shape, become zero with probability p, and are divided by 1 − p otherwise."""
        if not self.training or self.p == 0:
            return x
        if self.p == 1 or x.dtype not in FLOATS or implementation(self.kernel, x.device) is not fused:
            return super().forward(x)
        return drop(x, self.p, draw_seed(self))


def draw_seed(dropout: nn.Dropout) -> int:
    """A seed for dropout inside a kernel, from torch's generator; 0 where nothing is dropped."""
    if not dropout.training or dropout.p == 0:
        return 0
    return int(torch.randint(2**63 - 1, (), device="cpu"))
