"""The first map of a network whose nodes are two numbers each."""

from __future__ import annotations

import torch
from torch import nn


class KeyValueEmbedding(nn.Module):
    """x_i = K[key_i] + V[value_i], with two tables of learned rows, normal at the start.

    Reference: Alon & Yahav, "On the Bottleneck of Graph Neural Networks and its Practical Implications", ICLR 2021,
    and their code.

    Parameters
    ----------
    in_features : how many keys, and how many values, there are; both count from 0.
    out_features : the width.
    dropout : on the sum.
    """

    def __init__(self, in_features: int, out_features: int, dropout: float = 0.0):
        super().__init__()
        self.in_features = in_features
        self.key = nn.Embedding(in_features, out_features)
        self.value = nn.Embedding(in_features, out_features)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Keys and values (2, N), whole numbers → (N, out)."""
        return self.dropout(self.key(x[0]) + self.value(x[1]))
