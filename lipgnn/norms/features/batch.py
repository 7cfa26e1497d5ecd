"""BatchNorm over the nodes."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from lipgnn.norms.bound import Bound
from lipgnn.runtime import dgl


class BatchNorm(nn.Module):
    """Standardize every channel over the nodes; running statistics in evaluation.

    Of features (N, …, F) over the nodes and all … together, as torch does of images.

    Reference: Ioffe & Szegedy, "Batch Normalization", ICML 2015.
    """

    local = False
    keeps_statistics = True

    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.BatchNorm1d(width)

    @classmethod
    def for_width(cls, width: int, **arguments: Any) -> BatchNorm:
        """The norm of features of `width` channels."""
        return cls(width, **arguments)

    def forward(self, graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x.flatten(0, -2)).view_as(x) if x.dim() > 2 else self.norm(x)

    def certified(self, graph: dgl.DGLGraph | None) -> Bound:
        """max |γ| / √(var + ε): in evaluation it is a diagonal map."""
        own = self.norm
        return Bound((own.weight.detach() * (own.running_var + own.eps).rsqrt()).abs().max().item())
