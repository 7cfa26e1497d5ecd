"""What a network is: the options its layers depend on, checked once, whoever builds it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from lipgnn.catalog import (
    ACTIVATIONS,
    BIASES,
    DROPOUT_PLACES,
    ENCODERS,
    FEATURE_NORMS,
    INITS,
    JUMPS,
    KERNELS,
    MIXING_INITS,
    MLPS,
    MODELS,
    NO_NORM,
    NORM_PLACES,
    RESIDUALS,
    SCORE_NORMS,
    SKIPS,
    STACKS,
    parse_norm,
)
from lipgnn.errors import UsageError, did_you_mean
from lipgnn.spec.head_sharing import NO_SHARING, parse_head_sharing
from lipgnn.spec.options import checked, option, shown
from lipgnn.spec.rules import check_network, check_recomputation
from lipgnn.spec.weight_norm import parse_weight_norm

_NETWORK, _DEPTH, _COMPUTE = "network", "depth and norms", "compute"

MAX_LAYERS = 10_000
"""Ten times the deepest network known to have been trained on a graph; building one takes half a minute."""


def _recomputed_blocks(text: str) -> int:
    if text == "auto":
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise UsageError(
            f"recompute_every must be auto or a whole number, got {shown(text)}.",
            f"{did_you_mean(text, ['auto'])}0 is off.",
        )
    return int(text)


@dataclass(frozen=True, kw_only=True)
class NetworkSpec:
    """A deep network, whatever it is trained on. A run specification is one of these with data and training added.

    Raises
    ------
    UsageError : a value of the wrong type, outside its limits, or in contradiction to another.
    """

    model: str = option(_NETWORK, "gat", "The kind of layer.", catalog=MODELS)
    layers: int = option(_NETWORK, 10, "The number of layers; 0 is one linear map.", low=0, high=MAX_LAYERS)
    hidden: int = option(_NETWORK, 8, "The width of one head; the network is heads × hidden wide.", low=1)
    heads: int = option(_NETWORK, 8, "The number of heads.", low=1)
    head_sharing: str = option(
        _NETWORK,
        NO_SHARING,
        "What heads share of queries and keys: none, collab (all channels, mixed for every head), mqa (one key for "
        "all heads) or gqa:G (one key for each of G groups of heads).",
        neutral=NO_SHARING,
        syntax=parse_head_sharing,
    )
    shared_dim: int = option(
        _NETWORK,
        0,
        "The width of the shared keys, with --head-sharing; 0 is heads × hidden for collab, and hidden for every key "
        "of mqa and gqa:G.",
        low=0,
        neutral=0,
    )
    mixing_init: str = option(
        _NETWORK,
        "normal",
        "How heads mix the shared channels at first, with --head-sharing collab.",
        catalog=MIXING_INITS,
        neutral="normal",
    )
    activation: str = option(_NETWORK, "relu", "The activation after every layer.", choices=ACTIVATIONS)
    encoder: str = option(_NETWORK, "linear", "What comes before the first layer.", catalog=ENCODERS, neutral="linear")
    encoder_activation: str = option(
        _NETWORK, "relu", "The activation between the encoder and the first layer.", choices=ACTIVATIONS
    )
    bias: str = option(_NETWORK, "none", "Where biases are learned.", catalog=BIASES)
    skip: str = option(
        _NETWORK,
        "own",
        "Whether gt and sage layers have their own linear skip; with --residual initial the default is none.",
        choices=SKIPS,
    )
    mlp: str = option(_NETWORK, "none", "The MLP that follows every layer.", catalog=MLPS)
    dropout: float = option(_NETWORK, 0.6, "Dropout on the input of encoder and decoder.", low=0, below=1)
    layer_dropout: float = option(_NETWORK, 0.6, "Dropout on the input of every layer.", low=0, below=1)
    dropout_from: str = option(_NETWORK, "input", "Where dropout begins.", catalog=DROPOUT_PLACES, neutral="input")
    attn_dropout: float = option(_NETWORK, 0.0, "Dropout on the attention weights of every layer.", low=0, below=1)
    edge_dropout: float = option(
        _NETWORK, 0.0, "The share of edges that every training step leaves out, self-loops excepted.", low=0, below=1
    )
    norm: str = option(
        _DEPTH,
        "lip",
        "A score norm (lip…), a feature norm, or one of each joined by +; none is neither.",
        names=(SCORE_NORMS, FEATURE_NORMS),
        syntax=parse_norm,
    )
    kappa: float = option(_DEPTH, 4.0, "LipschitzNorm keeps scores within ±1/kappa.", low=1e-6, high=1e6)
    norm_place: str = option(_DEPTH, "branch", "Where the feature norm acts.", catalog=NORM_PLACES)
    weight_norm: str = option(
        _DEPTH,
        NO_NORM,
        "The largest singular value of every linear map: none, cap:C or fix:C, where C is a number or, say, 4/L.",
        syntax=parse_weight_norm,
    )
    residual: str = option(_DEPTH, "initial", "What becomes of a layer's input.", catalog=RESIDUALS)
    alpha: float = option(
        _DEPTH, 0.1, "The share of the first features in every layer, with --residual initial.", low=0, high=1
    )
    beta: float = option(
        _DEPTH,
        0.5,
        "Layer l maps by (1−b) I + b W with b = log(beta/l + 1), with --residual initial; λ of model aero.",
        low=0,
        high=10,
    )
    jk: str = option(_DEPTH, "none", "What the decoder sees of the layers (jumping knowledge).", catalog=JUMPS)
    init: str = option(_DEPTH, "glorot", "How the maps of a layer start.", catalog=INITS)
    stack: str = option(_DEPTH, "plain", "How blocks follow each other.", catalog=STACKS)
    kernel: str = option(_COMPUTE, "auto", "What computes the attention.", catalog=KERNELS)
    recompute_every: str = option(
        _COMPUTE,
        "auto",
        "Keep the activations of every K-th block only and recompute the rest; 0 is off, auto looks at free memory.",
        or_number=int,
        syntax=_recomputed_blocks,
    )

    def __post_init__(self) -> None:
        for one in fields(self):
            object.__setattr__(self, one.name, checked(one, getattr(self, one.name)))
        # One spelling, so that one run has one id.
        object.__setattr__(self, "weight_norm", str(parse_weight_norm(self.weight_norm) or NO_NORM))
        object.__setattr__(self, "head_sharing", str(parse_head_sharing(self.head_sharing) or NO_SHARING))
        check_network(self)
        check_recomputation(self.stack, self.recomputed_blocks)

    @property
    def width(self) -> int:
        """The width of the network throughout, whatever the kind of layer: kinds are compared at equal width."""
        return self.hidden * self.heads

    @property
    def decoder_width(self) -> int:
        """The width of what the decoder is given."""
        return self.width * (self.layers if self.jk == "concat" else 1)

    @property
    def input_dropout(self) -> float:
        """Dropout on the input of the encoder."""
        return self.dropout if self.dropout_from == "input" else 0.0

    @property
    def scale(self) -> float:
        """The factor of what a layer adds to its input."""
        return self.layers**-0.5 if self.residual == "scaled" else 1.0

    @property
    def recomputed_blocks(self) -> int:
        """The distance of the blocks whose input is kept, as far as it is known before the run: 0 for auto."""
        return _recomputed_blocks(self.recompute_every)
