"""A network of two linear maps, for every node on its own."""

from __future__ import annotations

import torch
from torch import nn

from lipgnn.nn.activations import largest_slope
from lipgnn.nn.linear_map import LinearMap
from lipgnn.norms import Bound
from lipgnn.norms.bound import product
from lipgnn.norms.lengths import spectral_norm
from lipgnn.runtime import dgl


class Mlp(nn.Module):
    """x_i ← W₂ σ(W₁ x_i + b₁) + b₂, called like a layer, but without a look at the graph.

    Reference: Vaswani et al., "Attention Is All You Need", NeurIPS 2017, equation 2.

    Parameters
    ----------
    width, inner : of input and output, and between the two maps.
    activation : σ.
    bias : whether it has b₁ and b₂.
    out_width : of the output, where it is another than that of the input.
    """

    local = True
    counts_out_edges = False
    keeps_statistics = False

    def __init__(
        self, width: int, inner: int, activation: nn.Module, bias: bool = True, *, out_width: int | None = None
    ):
        super().__init__()
        self.first = nn.Linear(width, inner, bias=bias)
        self.activation = activation
        self.second = nn.Linear(inner, width if out_width is None else out_width, bias=bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights: Glorot uniform; biases zero."""
        for linear in (self.first, self.second):
            nn.init.xavier_uniform_(linear.weight)
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)

    def forward(self, graph: dgl.DGLGraph | None, x: torch.Tensor) -> torch.Tensor:
        """(N, W) → (N, W)."""
        return self.second(self.activation(self.first(x)))

    @property
    def maps(self) -> list[LinearMap]:
        """Its two linear maps."""
        return [LinearMap(self.first), LinearMap(self.second, last=True)]

    def certified(self, graph: dgl.DGLGraph | None) -> Bound:
        """‖W₂‖₂ · the largest slope of σ · ‖W₁‖₂."""
        first, second = (Bound(spectral_norm(linear.weight)) for linear in (self.first, self.second))
        return product([second, largest_slope(self.activation), first])
