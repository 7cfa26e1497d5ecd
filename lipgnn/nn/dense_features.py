"""The features of a network without an encoder, as its first layer takes them."""

from __future__ import annotations

import torch
from torch import nn


class DenseFeatures(nn.Module):
    """Features as they are, but dense: what stands in the place of an encoder where there is none.

    Nothing is dropped here: the first layer drops of its input as every layer does. Where gradients are computed, what
    it gives asks for one, as what an encoder gives does, so that the input of the first layer can be measured.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(N, F), sparse COO or dense → (N, F)."""
        x = x.to_dense() if x.is_sparse else x
        return x.detach().requires_grad_() if torch.is_grad_enabled() and not x.requires_grad else x
