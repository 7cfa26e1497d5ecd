"""A score norm that says nothing of itself."""

from torch import nn


class Halved(nn.Module):
    """t̂_ij = t_ij / 2κ."""

    def __init__(self, *, kappa):
        super().__init__()
        self.kappa = kappa

    def forward(self, graph, scores, z, attn):
        return scores / (2 * self.kappa)
