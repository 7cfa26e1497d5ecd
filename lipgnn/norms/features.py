"""Feature norms: (graph, x) → x, applied after a layer; x has shape (N, F)."""

from __future__ import annotations

import math

import torch
from torch import nn

from lipgnn.catalog import FEATURE_NORMS, check_name
from lipgnn.errors import UsageError
from lipgnn.runtime import dgl


class FeatureNorm(nn.Module):
    """Base of the feature norms: a module called with a graph and the features of its nodes."""

    def forward(self, graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


class PairNorm(FeatureNorm):
    """Keep the total pairwise distance between nodes constant, so that they cannot all become alike.

    With x^c_i = x_i − (1/N) Σ_j x_j,

        PN:     x_i ← s · x^c_i / sqrt(ε + (1/N) Σ_j ‖x^c_j‖²)
        PN-SI:  x_i ← s · x^c_i / sqrt(ε + ‖x^c_i‖²)

    Reference: Zhao & Akoglu, "PairNorm: Tackling Oversmoothing in GNNs", ICLR 2020, equations 10 and 11;
    ε = 1e-6 as in their code.

    Parameters
    ----------
    scale : s, the length of the average (PN) or of every (PN-SI) row.
    individually : PN-SI instead of PN.
    """

    def __init__(self, *, scale: float = 1.0, individually: bool = False, eps: float = 1e-6):
        super().__init__()
        self.scale = scale
        self.individually = individually
        self.eps = eps

    def forward(self, graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
        centered = x - x.mean(dim=0)
        square = centered.square().sum(dim=1, keepdim=True)  # (N, 1)
        if not self.individually:
            square = square.mean()
        return self.scale * centered / (self.eps + square).sqrt()

    def extra_repr(self) -> str:
        return f"scale={self.scale}, individually={self.individually}"


class LayerNorm(FeatureNorm):
    """Standardize features, then scale and shift them by learned values.

    mode "node": every node over its own channels, gain and bias a channel; equal to torch.nn.LayerNorm.
    mode "graph": x ← γ (x − mean(x)) / (std(x) + ε) + β over all nodes and channels together, with one
    gain and one bias; the form of early PyTorch Geometric, which the LipschitzNorm experiments used.

    Reference: Ba, Kiros & Hinton, "Layer Normalization", 2016.
    """

    def __init__(self, width: int, *, mode: str = "node", eps: float = 1e-5):
        super().__init__()
        if mode not in ("node", "graph"):
            raise UsageError(f"LayerNorm has no mode {mode!r}.", "Valid: 'node', 'graph'.")
        self.mode = mode
        self.eps = eps
        size = width if mode == "node" else 1
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
        if self.mode == "node":
            return nn.functional.layer_norm(x, x.shape[1:], self.weight, self.bias, self.eps)
        centered = x - x.mean()
        # As a length, whose gradient is 0 and not infinite where all features are equal.
        deviation = torch.linalg.vector_norm(centered) / math.sqrt(centered.numel())
        return self.weight * centered / (deviation + self.eps) + self.bias

    def extra_repr(self) -> str:
        return f"mode={self.mode!r}"


class BatchNorm(FeatureNorm):
    """Standardize every channel over the nodes; running statistics in evaluation.

    Reference: Ioffe & Szegedy, "Batch Normalization", ICML 2015.
    """

    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.BatchNorm1d(width)

    def forward(self, graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


def feature_norm(name: str, width: int) -> FeatureNorm:
    """The feature norm of the catalog called `name`, for features of `width` channels."""
    check_name("feature norm", name, FEATURE_NORMS)
    return {
        "pair": lambda: PairNorm(),
        "pair-si": lambda: PairNorm(individually=True),
        "layer": lambda: LayerNorm(width),
        "layer-graph": lambda: LayerNorm(width, mode="graph"),
        "batch": lambda: BatchNorm(width),
    }[name]()
