"""GraphNorm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from lipgnn.norms.bound import Bound
from lipgnn.runtime import dgl, members_of


class GraphNorm(nn.Module):
    """Standardize every channel over the nodes of a graph, with a learned share of the mean taken away.

        x_i ← γ (x_i − α μ) / sqrt( mean_j (x_j − α μ)² + ε ) + β,   μ = mean_j x_j

    for every channel, over the nodes j of the graph that i is in: in a batch by `dgl.batch`, or where the nodes say it
    (`lipgnn.runtime.MEMBERSHIP`), every graph on its own. Of features (N, …, F) each … has statistics of its own.
    α = γ = 1 and β = 0 at the start, where it is BatchNorm in training on one graph; it keeps no running statistics.
    Same parameters and same output as PyTorch Geometric's.

    Reference: Cai et al., "GraphNorm: A Principled Approach to Accelerating Graph Neural Network Training", ICML 2021.
    """

    local = False
    keeps_statistics = False

    def __init__(self, width: int, *, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.mean_scale = nn.Parameter(torch.ones(width))

    @classmethod
    def for_width(cls, width: int, **arguments: Any) -> GraphNorm:
        """The norm of features of `width` channels."""
        return cls(width, **arguments)

    def forward(self, graph: dgl.DGLGraph | None, x: torch.Tensor) -> torch.Tensor:
        mean = _mean_over(members_of(graph), x)
        centered = x - self.mean_scale * mean(x)
        variance = mean(centered.square())
        return self.weight * centered * (variance + self.eps).rsqrt() + self.bias

    def certified(self, graph: dgl.DGLGraph | None) -> Bound:
        """No bound of use is known."""
        return Bound.unknown(
            "GraphNorm divides features by their own deviation, and small ones by almost nothing: "
            "use no feature norm, or batch"
        )


def _mean_over(members: torch.Tensor | None, like: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    """What takes the mean over all nodes, (N, …) → (…), or over those of every node's own graph, (N, …) → (N, …)."""
    if members is None:
        return lambda x: x.mean(dim=0)
    counts = torch.bincount(members).clamp(min=1).to(like.dtype).view(-1, *[1] * (like.dim() - 1))

    def mean(x: torch.Tensor) -> torch.Tensor:
        sums = x.new_zeros(len(counts), *x.shape[1:]).index_add(0, members, x)
        return (sums / counts).index_select(0, members)

    return mean
