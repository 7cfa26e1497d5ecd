"""A number for every edge, from what is known of its two ends and of itself."""

from __future__ import annotations

import warnings

import torch
from torch import nn


class EdgeHead(nn.Module):
    """logit_e = w · sigmoid( A h_s + B h_r + C f_e + b ) + c for an edge e from s to r with features f_e.

    A perceptron on [h_s, h_r, f_e], twice as wide inside as its input is long; the maps of the two ends are applied to
    nodes, before there are edges.

    Reference: Cordonnier & Loukas, "Extrapolating paths with graph neural networks", IJCAI 2019, and their code.

    Parameters
    ----------
    width : of h.
    edge_width : of f.
    """

    def __init__(self, width: int, edge_width: int):
        super().__init__()
        inner = 2 * (2 * width + edge_width)
        self.sender = _linear(width, inner, bias=False)
        self.receiver = _linear(width, inner, bias=True)
        self.edge = nn.Linear(edge_width, inner, bias=False) if edge_width else None
        self.out = nn.Linear(inner, 1)
        for linear in (self.sender, self.receiver, self.edge, self.out):
            if linear is not None:
                nn.init.xavier_uniform_(linear.weight)
        nn.init.zeros_(self.receiver.bias)
        nn.init.zeros_(self.out.bias)

    def forward(
        self, h: torch.Tensor, sources: torch.Tensor, targets: torch.Tensor, edge_features: torch.Tensor
    ) -> torch.Tensor:
        """(N, W), (E,), (E,), (E, F) → (E,)."""
        inner = self.sender(h).index_select(0, sources) + self.receiver(h).index_select(0, targets)
        if self.edge is not None:
            inner = inner + self.edge(edge_features)
        return self.out(torch.sigmoid(inner)).squeeze(1)


def _linear(width: int, inner: int, *, bias: bool) -> nn.Linear:
    with warnings.catch_warnings():
        # Where nodes have no features it is a map of nothing, which torch warns of.
        warnings.filterwarnings("ignore", "Initializing zero-element tensors", UserWarning)
        return nn.Linear(width, inner, bias=bias)
