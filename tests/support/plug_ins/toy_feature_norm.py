"""A feature norm that says nothing of itself."""

from torch import nn


class Tenth(nn.Module):
    """x ← x / 10."""

    @classmethod
    def for_width(cls, width):
        return cls()

    def forward(self, graph, x):
        return x / 10
