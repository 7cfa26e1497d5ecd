"""Biases that shrink with the bound of their map."""

from __future__ import annotations

import torch
from torch import nn


class Scaled(nn.Module):
    """b ↦ s · b."""

    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def forward(self, bias: torch.Tensor) -> torch.Tensor:
        """Of any shape."""
        return self.factor * bias

    def extra_repr(self) -> str:
        return f"factor={self.factor:.4g}"
