"""Norms by what they act on: scores (before the softmax), features (around a layer) and weights (of its maps)."""

from lipgnn.norms.bound import Bound
from lipgnn.norms.contract import FeatureNorm, ScoreNorm
from lipgnn.norms.features.batch import BatchNorm
from lipgnn.norms.features.graph import GraphNorm
from lipgnn.norms.features.layer import LayerNorm
from lipgnn.norms.features.pair import PairNorm
from lipgnn.norms.named import feature_norm, score_norm
from lipgnn.norms.scores.dot_product import DotProductLipschitzNorm
from lipgnn.norms.scores.dynamic import DynamicLipschitzNorm
from lipgnn.norms.scores.lipschitz import LipschitzNorm
from lipgnn.norms.scores.source import SourceLipschitzNorm
from lipgnn.norms.weights.near_identity import NearIdentity
from lipgnn.norms.weights.scaled import Scaled
from lipgnn.norms.weights.spectral_bound import SpectralBound, advance_all

__all__ = [
    "BatchNorm",
    "Bound",
    "DotProductLipschitzNorm",
    "DynamicLipschitzNorm",
    "FeatureNorm",
    "GraphNorm",
    "LayerNorm",
    "LipschitzNorm",
    "NearIdentity",
    "PairNorm",
    "Scaled",
    "ScoreNorm",
    "SourceLipschitzNorm",
    "SpectralBound",
    "advance_all",
    "feature_norm",
    "score_norm",
]
