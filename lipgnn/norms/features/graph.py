"""GraphNorm, and which graph of a batch a node belongs to."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from lipgnn.norms.bound import Bound
from lipgnn.runtime import MEMBERSHIP, dgl


class GraphNorm(nn.Module):
    """Standardize every channel over the nodes of a graph, with a learned share of the mean taken away.

        x_i ← γ (x_i − α μ) / sqrt( mean_j (x_j − α μ)² + ε ) + β,   μ = mean_j x_j

    for every channel, over the nodes j of the graph that i is in: in a batch by `dgl.batch`, or where the nodes say it
    (`lipgnn.runtime.MEMBERSHIP`), every graph on its own. α = γ = 1 and β = 0 at the start, where it is BatchNorm in
    training on one graph; it keeps no running statistics. Same parameters and same output as PyTorch Geometric's.

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
        members = members_of(graph)
        centered = x - self.mean_scale * _mean(x, members)
        variance = _mean(centered.square(), members)
        return self.weight * centered * (variance + self.eps).rsqrt() + self.bias

    def certified(self, graph: dgl.DGLGraph | None) -> Bound:
        """No bound of use is known."""
        return Bound.unknown(
            "GraphNorm divides features by their own deviation, and small ones by almost nothing: "
            "use no feature norm, or batch"
        )


def members_of(graph: dgl.DGLGraph | None) -> torch.Tensor | None:
    """The number of the graph of every node, (N,), or None where all are of one.

    What is no whole graph, as the targets of a sample, counts as one.
    """
    if not isinstance(graph, dgl.DGLGraph) or graph.is_block:
        return None
    if MEMBERSHIP in graph.ndata:
        return graph.ndata[MEMBERSHIP]
    # DGL makes what says that there is one graph on first use, on the default device.
    with torch.device(graph.device):
        sizes = graph.batch_num_nodes()
    return None if len(sizes) == 1 else torch.arange(len(sizes), device=sizes.device).repeat_interleave(sizes)


def _mean(x: torch.Tensor, members: torch.Tensor | None) -> torch.Tensor:
    """The mean over all nodes (F,), or over those of every node's own graph (N, F)."""
    if members is None:
        return x.mean(dim=0)
    graphs = int(members.max()) + 1 if len(members) else 0
    sums = x.new_zeros(graphs, x.shape[1]).index_add(0, members, x)
    counts = torch.bincount(members, minlength=graphs).clamp(min=1).to(x.dtype).unsqueeze(1)
    return (sums / counts).index_select(0, members)
