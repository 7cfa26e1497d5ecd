"""Norms by what they act on: scores (before the softmax) and features (after a layer)."""

from lipgnn.norms.features import BatchNorm, FeatureNorm, LayerNorm, PairNorm, feature_norm
from lipgnn.norms.scores import DotProductLipschitzNorm, LipschitzNorm, SourceLipschitzNorm

__all__ = [
    "BatchNorm",
    "DotProductLipschitzNorm",
    "FeatureNorm",
    "LayerNorm",
    "LipschitzNorm",
    "PairNorm",
    "SourceLipschitzNorm",
    "feature_norm",
]
