"""Names, descriptions and defaults of what networks are made of: layers, norms, residuals and the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lipgnn.catalog.entry import Entry
from lipgnn.errors import UsageError, unknown_name

NO_NORM = "none"

RESIDUALS: dict[str, Entry] = {
    "none": Entry("a layer's output is all there is"),
    "identity": Entry("added to its input"),
    "scaled": Entry("divided by √layers and added to its input (Hayou et al. 2021)"),
    "initial": Entry("mixed with the first features, by maps near the identity: GCNII (Chen et al. 2020)"),
    "gated": Entry("mixed with its input, in shares learned for every node (Shi et al. 2021)"),
}
# Those that add a layer's output to its input.
SUMS = ("identity", "scaled")

NORM_PLACES: dict[str, Entry] = {
    "branch": Entry("on the output of a layer, before its activation and the residual sum"),
    "sum": Entry("after the activation and the residual sum, also called post-norm (Alon & Yahav 2021)"),
    "pre": Entry("on the input of a layer, which the residual passes by"),
}

ACTIVATIONS = ("elu", "relu", "leaky-relu", "gelu", "tanh", "none")

SKIPS = ("own", "none")

MLPS: dict[str, Entry] = {
    "none": Entry("no"),
    "2x": Entry("of two maps, twice as wide in between"),
}

INITS: dict[str, Entry] = {
    "glorot": Entry("as the layer is published"),
    "orthogonal": Entry("orthonormal rows or columns for every head"),
    "zero-last": Entry("every layer starts by adding nothing"),
}

STACKS: dict[str, Entry] = {
    "plain": Entry("every block after the other, all activations kept"),
    "reversible": Entry("two halves of the features, activations recomputed by inversion (Li et al. 2021)"),
}

KERNELS: dict[str, Entry] = {
    "auto": Entry("the fastest that applies"),
    "dgl": Entry("DGL's message passing: the reference, on CPU and CUDA"),
    "fused": Entry("the whole attention step in one compiled kernel, on the CPU"),
    "triton": Entry("the same algorithm for CUDA, with any torch that has Triton"),
}

MODELS: dict[str, Entry] = {
    "gat": Entry("graph attention network (Veličković et al. 2018)"),
    # The paper's dot-product formula has no further constant, the additive one has 4.
    "gt": Entry("graph transformer with linear skip (Shi et al. 2021)", {"kappa": 1.0}),
    # These have no attention scores for the default norm to act on.
    "gcn": Entry("graph convolution (Kipf & Welling 2017)", {"norm": NO_NORM}),
    "gin": Entry("graph isomorphism network (Xu et al. 2019)", {"norm": NO_NORM}),
    "ggnn": Entry("gated graph network, one step a layer (Li et al. 2016)", {"norm": NO_NORM}),
}
ATTENTION_MODELS = ("gat", "gt")
# Those with a linear map from features to what a node adds up of its neighbours, and with linear maps at all.
VALUE_MODELS = ("gat", "gt", "gcn")
LINEAR_MODELS = (*VALUE_MODELS, "gin")

SCORE_NORMS: dict[str, Entry] = {
    "lip": Entry("LipschitzNorm on the attention scores (Dasoulas et al. 2021)"),
    "lip-all-heads": Entry("the same with one length of the attention vectors over all heads"),
    "lip-source": Entry("the same with the length of the source in place of the target's; not the theorem"),
    "lip-released": Entry("what the code released with the paper computes; not the theorem"),
}
# Those that kernels other than the reference know.
FUSED_NORMS = (NO_NORM, "lip")
FEATURE_NORMS: dict[str, Entry] = {
    "pair": Entry("PairNorm (Zhao & Akoglu 2020)"),
    "pair-si": Entry("PairNorm, every node scaled on its own"),
    "layer": Entry("LayerNorm, every node on its own (Ba et al. 2016)"),
    "layer-graph": Entry("LayerNorm over all nodes and channels together"),
    "batch": Entry("BatchNorm over the nodes (Ioffe & Szegedy 2015)"),
}


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


@dataclass(frozen=True)
class WeightNorm:
    """A bound on the largest singular value of every linear map of a layer.

    Attributes
    ----------
    fixed : the value is the bound ("fix") instead of at most the bound ("cap").
    number : the bound, or that times the depth.
    over_layers : whether it is divided by the number of layers.
    """

    fixed: bool
    number: float
    over_layers: bool

    def limit(self, layers: int) -> float:
        """The bound in a network of so many layers."""
        return self.number / layers if self.over_layers else self.number

    def __str__(self) -> str:
        return f"{'fix' if self.fixed else 'cap'}:{self.number:g}{'/L' if self.over_layers else ''}"


def parse_weight_norm(text: str) -> WeightNorm | None:
    """`cap:C` or `fix:C` with C a number or, as in `4/L`, a number over the depth; None for `none`.

    Raises
    ------
    UsageError : anything else, or a number that is not positive.
    """
    if text == NO_NORM:
        return None
    kind, _, bound = text.partition(":")
    digits, over, rest = bound.partition("/")
    try:
        number = float(digits)
    except ValueError:
        number = math.nan
    if kind not in ("cap", "fix") or (over and rest != "L") or not 0 < number < math.inf:
        raise UsageError(
            f"weight_norm must be none, cap:C or fix:C with a positive C, got {text!r}.",
            "C is a number or, to shrink with depth, one over L: for instance fix:4/L.",
        )
    return WeightNorm(kind == "fix", number, bool(over))
