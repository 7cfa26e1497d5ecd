"""A layer and norms that are known to the catalog by one entry each: silent ones, and the same that speak."""

import torch
from torch import nn

from lipgnn import catalog
from lipgnn.norms import Bound
from lipgnn.runtime import dgl


class SilentLayer(nn.Module):
    """The mean over in-neighbours of W x, which is local, and does not say so."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    @classmethod
    def from_spec(cls, spec, width):
        return cls(width)

    def forward(self, graph, x):
        return dgl.ops.copy_u_mean(graph, self.linear(x))


class SpeakingLayer(SilentLayer):
    local = True
    counts_out_edges = False
    keeps_statistics = False

    def certified(self, graph):
        return Bound(1e6)


class SilentScoreNorm(nn.Module):
    def __init__(self, *, kappa):
        super().__init__()
        self.kappa = kappa

    def forward(self, graph, scores, z, attn):
        return torch.tanh(scores) / self.kappa


class SpeakingScoreNorm(SilentScoreNorm):
    attention = (catalog.ADDITIVE,)
    local = True
    keeps_statistics = False

    def certified(self, graph):
        return Bound(1e6)


class SilentFeatureNorm(nn.Module):
    @classmethod
    def for_width(cls, width):
        return cls()

    def forward(self, graph, x):
        return x / 2


class SpeakingFeatureNorm(SilentFeatureNorm):
    local = True
    keeps_statistics = False

    def certified(self, graph):
        return Bound(0.5)


# The options of a run that choose each of them, but for what it says.
TOYS = {
    "layer": {"model": "{}-layer", "norm": "none"},
    "score norm": {"model": "gat", "norm": "{}-score"},
    "feature norm": {"model": "gat", "norm": "lip+{}-feature"},
}


def options_of(toy, speech):
    """The options of a run with this toy; `speech` is "silent" or "speaking"."""
    return {name: value.format(speech) for name, value in TOYS[toy].items()}


def plug_in(monkeypatch):
    """Give the catalog an entry for each, for a while."""
    for speech in ("silent", "speaking"):
        kind = speech.title()
        layer = catalog.LayerEntry("a toy", {"norm": "none"}, f"toys:{kind}Layer")
        score = catalog.ScoreNormEntry("a toy", implementations={catalog.ADDITIVE: f"toys:{kind}ScoreNorm"})
        feature = catalog.FeatureNormEntry("a toy", {}, f"toys:{kind}FeatureNorm")
        monkeypatch.setitem(catalog.MODELS, f"{speech}-layer", layer)
        monkeypatch.setitem(catalog.SCORE_NORMS, f"{speech}-score", score)
        monkeypatch.setitem(catalog.FEATURE_NORMS, f"{speech}-feature", feature)
