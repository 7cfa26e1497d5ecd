"""Maps near the identity."""

from __future__ import annotations

import torch
from torch import nn


class NearIdentity(nn.Module):
    """W ↦ (1 − β) I + β W, for square maps.

    Reference: Chen et al., "Simple and Deep Graph Convolutional Networks" (GCNII), ICML 2020, equation 5.
    """

    def __init__(self, beta: float):
        super().__init__()
        self.beta = beta

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """(W, W) → (W, W)."""
        identity = torch.eye(len(weight), dtype=weight.dtype, device=weight.device)
        return torch.lerp(identity, weight, self.beta)

    def extra_repr(self) -> str:
        return f"beta={self.beta:.4g}"
