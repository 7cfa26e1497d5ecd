"""The norms of scores and of features, by name; a new one is one class in `lipgnn.norms` and one entry here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lipgnn.catalog.entry import Entry, load_class
from lipgnn.errors import UsageError, unknown_name

NO_NORM = "none"

# The kinds of attention: scores a_l·z_j + a_r·z_i, scores q_i·k_j, scores a·LeakyReLU(k_j + q_i), and scores
# Σ_r m_r q_ir k_jr with queries and keys that all heads share.
ADDITIVE, DOT_PRODUCT, DYNAMIC, SHARED_PRODUCT = "additive", "dot-product", "dynamic", "shared-product"


@dataclass(frozen=True, kw_only=True)
class ScoreNormEntry(Entry):
    """A norm of attention scores, with what has to be known of it before there is one (see lipgnn.norms).

    Attributes
    ----------
    implementations : for every kind of attention that it fits its class, as "module:Class".
    arguments : of the class, which the name stands for.
    fused : whether kernels other than the reference know it.
    """

    implementations: Mapping[str, str]
    arguments: dict[str, Any] = field(default_factory=dict)
    fused: bool = False

    @property
    def attention(self) -> tuple[str, ...]:
        """The kinds of attention that it fits."""
        return tuple(self.implementations)

    def load(self, attention: str) -> type:
        """The class for a kind of attention."""
        return load_class(self.implementations[attention])


@dataclass(frozen=True, kw_only=True)
class FeatureNormEntry(Entry):
    """A norm of features (see lipgnn.norms).

    Attributes
    ----------
    arguments : of the class, which the name stands for.
    """

    arguments: dict[str, Any] = field(default_factory=dict)


_LIPSCHITZ = "lipgnn.norms.scores.lipschitz:LipschitzNorm"
_DOT_PRODUCT = "lipgnn.norms.scores.dot_product:DotProductLipschitzNorm"
_SOURCE = "lipgnn.norms.scores.source:SourceLipschitzNorm"

SCORE_NORMS: dict[str, ScoreNormEntry] = {
    "lip": ScoreNormEntry(
        "LipschitzNorm on the attention scores (Dasoulas et al. 2021); for gatv2 an extension of ours",
        implementations={
            ADDITIVE: _LIPSCHITZ,
            DOT_PRODUCT: _DOT_PRODUCT,
            # Ours: the paper has none for these scores.
            DYNAMIC: "lipgnn.norms.scores.dynamic:DynamicLipschitzNorm",
            SHARED_PRODUCT: _DOT_PRODUCT,
        },
        fused=True,
    ),
    "lip-all-heads": ScoreNormEntry(
        "LipschitzNorm with one length of the attention vectors over all heads",
        implementations={ADDITIVE: _LIPSCHITZ},
        arguments={"per_head": False},
    ),
    "lip-source": ScoreNormEntry(
        "LipschitzNorm with the length of the source in place of the target's; not the theorem",
        implementations={ADDITIVE: _SOURCE},
    ),
    "lip-released": ScoreNormEntry(
        "what the code released with the paper computes; not the theorem",
        implementations={ADDITIVE: _SOURCE},
        arguments={"released": True},
    ),
}

_PAIR, _LAYER = "lipgnn.norms.features.pair:PairNorm", "lipgnn.norms.features.layer:LayerNorm"

FEATURE_NORMS: dict[str, FeatureNormEntry] = {
    "pair": FeatureNormEntry("PairNorm (Zhao & Akoglu 2020)", implementation=_PAIR),
    "pair-si": FeatureNormEntry(
        "PairNorm, every node scaled on its own", implementation=_PAIR, arguments={"individually": True}
    ),
    "layer": FeatureNormEntry("LayerNorm, every node on its own (Ba et al. 2016)", implementation=_LAYER),
    "layer-graph": FeatureNormEntry(
        "LayerNorm over all nodes and channels together", implementation=_LAYER, arguments={"mode": "graph"}
    ),
    "batch": FeatureNormEntry(
        "BatchNorm over the nodes (Ioffe & Szegedy 2015)", implementation="lipgnn.norms.features.batch:BatchNorm"
    ),
    "graph": FeatureNormEntry(
        "GraphNorm, every graph of a batch on its own (Cai et al. 2021)",
        implementation="lipgnn.norms.features.graph:GraphNorm",
    ),
}


def fused_norms() -> list[str]:
    """The names of the score norms that kernels other than the reference know, none among them."""
    return [NO_NORM, *(name for name, entry in SCORE_NORMS.items() if entry.fused)]


def parse_norm(norm: str) -> tuple[str | None, str | None]:
    """Split a norm such as `lip+layer` into its score norm and its feature norm.

    Raises
    ------
    UsageError : an unknown name, or two norms of one kind.
    """
    if norm == NO_NORM:
        return None, None
    score = feature = None
    for part in norm.split("+"):
        if part in SCORE_NORMS and score is None:
            score = part
        elif part in FEATURE_NORMS and feature is None:
            feature = part
        elif part in SCORE_NORMS or part in FEATURE_NORMS:
            raise UsageError(
                f"Norm {norm!r} names two norms of one kind.",
                "Join at most one score norm and one feature norm, e.g. 'lip+layer'.",
            )
        else:
            raise unknown_name("norm", part, [NO_NORM, *SCORE_NORMS, *FEATURE_NORMS])
    return score, feature


def fitting_norm(norm: str, attention: str | None) -> str:
    """What of a norm a layer with this kind of attention can have: without scores that fit it has no score norm."""
    score, feature = parse_norm(norm)
    return norm if score is None or attention in SCORE_NORMS[score].attention else feature or NO_NORM
