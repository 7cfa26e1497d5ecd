"""LayerNorm, of every node or of all nodes together."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from lipgnn.errors import UsageError
from lipgnn.norms.bound import Bound
from lipgnn.runtime import dgl


class LayerNorm(nn.Module):
    """Standardize features, then scale and shift them by learned values.

    mode "node": every node over its own channels, gain and bias a channel; equal to torch.nn.LayerNorm.
    mode "graph": x ← γ (x − mean(x)) / (std(x) + ε) + β over all nodes and channels together, with one
    gain and one bias; the form of early PyTorch Geometric, which the LipschitzNorm experiments used. Of features
    (N, …, F) each … is standardized by itself.

    Reference: Ba, Kiros & Hinton, "Layer Normalization", 2016.
    """

    keeps_statistics = False

    def __init__(self, width: int, *, mode: str = "node", eps: float = 1e-5):
        super().__init__()
        if mode not in ("node", "graph"):
            raise UsageError(f"LayerNorm has no mode {mode!r}.", "Valid: 'node', 'graph'.")
        self.mode = mode
        self.eps = eps
        size = width if mode == "node" else 1
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))

    @classmethod
    def for_width(cls, width: int, **arguments: Any) -> LayerNorm:
        """The norm of features of `width` channels."""
        return cls(width, **arguments)

    @property
    def local(self) -> bool:
        """Whether every node is standardized on its own."""
        return self.mode == "node"

    def forward(self, graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
        if self.mode == "node":
            return nn.functional.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)
        centered = x - x.mean(dim=(0, -1), keepdim=True)
        # As a length, whose gradient is 0 and not infinite where all features are equal.
        length = torch.linalg.vector_norm(centered, dim=(0, -1), keepdim=True)
        deviation = length / math.sqrt(x.shape[0] * x.shape[-1])
        return self.weight * centered / (deviation + self.eps) + self.bias

    def certified(self, graph: dgl.DGLGraph | None) -> Bound:
        """No bound of use is known."""
        return Bound.unknown(
            "LayerNorm divides features by their own deviation, and small ones by almost nothing: "
            "use no feature norm, or batch"
        )

    def extra_repr(self) -> str:
        return f"mode={self.mode!r}"
