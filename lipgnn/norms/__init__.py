"""Norms by what they act on: scores (before the softmax), features (after a layer) and weights (of its maps)."""

from lipgnn.norms.features import BatchNorm, FeatureNorm, LayerNorm, PairNorm, feature_norm
from lipgnn.norms.scores import DotProductLipschitzNorm, LipschitzNorm, SourceLipschitzNorm
from lipgnn.norms.weights import NearIdentity, Scaled, SpectralBound, advance_all

__all__ = [
    "BatchNorm",
    "DotProductLipschitzNorm",
    "FeatureNorm",
    "LayerNorm",
    "LipschitzNorm",
    "NearIdentity",
    "PairNorm",
    "Scaled",
    "SourceLipschitzNorm",
    "SpectralBound",
    "advance_all",
    "feature_norm",
]
