"""PairNorm."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from lipgnn.norms.bound import Bound
from lipgnn.runtime import dgl


class PairNorm(nn.Module):
    """Keep the total pairwise distance between nodes constant, so that they cannot all become alike.

    With x^c_i = x_i − (1/N) Σ_j x_j,

        PN:     x_i ← s · x^c_i / sqrt(ε + (1/N) Σ_j ‖x^c_j‖²)
        PN-SI:  x_i ← s · x^c_i / sqrt(ε + ‖x^c_i‖²)

    Of features (N, …, F) each … has a mean and a size of its own.

    Reference: Zhao & Akoglu, "PairNorm: Tackling Oversmoothing in GNNs", ICLR 2020, equations 10 and 11;
    ε = 1e-6 as in their code.

    Parameters
    ----------
    scale : s, the length of the average (PN) or of every (PN-SI) row.
    individually : PN-SI instead of PN.
    """

    local = False
    keeps_statistics = False

    def __init__(self, *, scale: float = 1.0, individually: bool = False, eps: float = 1e-6):
        super().__init__()
        self.scale = scale
        self.individually = individually
        self.eps = eps

    @classmethod
    def for_width(cls, width: int, **arguments: Any) -> PairNorm:
        """The norm of features of any width."""
        return cls(**arguments)

    def forward(self, graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
        centered = x - x.mean(dim=0)
        square = centered.square().sum(dim=-1, keepdim=True)  # (N, …, 1)
        if not self.individually:
            square = square.mean(dim=0)
        return self.scale * centered / (self.eps + square).sqrt()

    def certified(self, graph: dgl.DGLGraph | None) -> Bound:
        """No bound of use is known."""
        return Bound.unknown(
            "PairNorm divides features by their own size, and small ones by almost nothing: "
            "use no feature norm, or batch"
        )

    def extra_repr(self) -> str:
        return f"scale={self.scale}, individually={self.individually}"
