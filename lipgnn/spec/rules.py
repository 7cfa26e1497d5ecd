"""Which options of a run go together; no torch here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from lipgnn.catalog import (
    ADDITIVE,
    DYNAMIC,
    FEATURE_NORMS,
    MODELS,
    NO_NORM,
    SCORE_NORMS,
    SHARED_PRODUCT,
    SUMS,
    models_with,
    parse_norm,
)
from lipgnn.errors import UsageError
from lipgnn.spec.head_sharing import COLLAB, NO_SHARING, HeadSharing, parse_head_sharing
from lipgnn.spec.weight_norm import parse_weight_norm


class Parts(Protocol):
    """What a network is made of, by the names it has in RunSpec."""

    model: str
    layers: int
    hidden: int
    heads: int
    head_sharing: str
    shared_dim: int
    mixing_init: str
    activation: str
    encoder: str
    encoder_activation: str
    layer_dropout: float
    edge_dropout: float
    norm: str
    norm_place: str
    weight_norm: str
    residual: str
    skip: str
    bias: str
    init: str
    jk: str
    mlp: str
    stack: str


def check_network(parts: Parts) -> None:
    """Refuse a network whose parts do not go together.

    Raises
    ------
    UsageError : says which; also for an unknown norm.
    """
    _check_norm(parts)
    _check_maps(parts)
    _check_layer(parts)
    _check_sharing(parts)
    if MODELS[parts.model].closed:
        _check_closed(parts)
    if parts.encoder == "none":
        _check_no_encoder(parts)
    if parts.init == "balanced":
        _check_balanced(parts)
    if parts.stack == "reversible":
        _check_reversible(parts)
    if parts.layers == 0:
        _check_no_layers(parts)


def check_recomputation(stack: str, recompute_every: int) -> None:
    """Refuse to keep fewer activations where none are kept.

    Raises
    ------
    UsageError : the stack is reversible.
    """
    if stack == "reversible" and recompute_every:
        raise UsageError(
            f"A reversible stack keeps no activations, and recompute_every is {recompute_every}.",
            "Use --recompute-every 0 or auto, or --stack plain.",
        )


def _refuse(fact: str, obstacles: Iterable[tuple[bool, str, str]]) -> None:
    """Refuse the first of these that is there: whether it is, what it is, and what to use in its place."""
    for met, what, use in obstacles:
        if met:
            raise UsageError(f"{fact}, which does not go with {what}.", f"Use {use}.")


def _check_norm(parts: Parts) -> None:
    """Score norms need attention scores, of a kind that they fit."""
    score, _ = parse_norm(parts.norm)
    if not score:
        return
    attention, fits = MODELS[parts.model].attention, SCORE_NORMS[score].attention
    if parts.head_sharing == COLLAB and MODELS[parts.model].shared:
        attention = SHARED_PRODUCT
    if attention is None:
        models = " or ".join(models_with("attention"))
        raise UsageError(
            f"Norm {parts.norm!r} acts on attention scores, and model {parts.model!r} has none.",
            f"Use model {models}, or a norm among {', '.join([NO_NORM, *FEATURE_NORMS])}.",
        )
    if attention not in fits:
        others = [name for name, entry in SCORE_NORMS.items() if attention in entry.attention]
        raise UsageError(
            f"Norm {score!r} is of {' or '.join(fits)} scores, and those of model {parts.model!r} are {attention}.",
            f"Use {' or '.join([*others, NO_NORM])}.",
        )


def _check_maps(parts: Parts) -> None:
    """What bounds or draws linear maps needs a layer that has them."""
    bound = parse_weight_norm(parts.weight_norm)
    linear = MODELS[parts.model].linear_maps
    if bound and not linear:
        raise UsageError(
            f"Weight norms bound linear maps, and a layer of {parts.model!r} is none.",
            f"Use model {', '.join(models_with('linear_maps'))}, or --weight-norm none.",
        )
    if parts.init not in ("glorot", "torch-ends") and not linear:
        raise UsageError(
            f"--init {parts.init} draws linear maps, and a layer of {parts.model!r} is none.", "Use --init glorot."
        )
    if parts.init == "zero-last" and parts.residual not in (*SUMS, "gated"):
        raise UsageError(
            f"--init zero-last starts layers from zero, and with residual {parts.residual!r} nothing would be left.",
            f"Use --residual {' or '.join(SUMS)}.",
        )
    if parts.init == "zero-last" and bound and bound.fixed:
        raise UsageError(
            f"Maps that start at zero cannot have the length that {parts.weight_norm!r} asks for.",
            "Use cap:C, or another --init than zero-last.",
        )


def _check_layer(parts: Parts) -> None:
    """Residuals and skips need layers of the right kind."""
    entry = MODELS[parts.model]
    if parts.residual == "initial" and not entry.value_map:
        raise UsageError(
            f"Residual 'initial' needs a layer with one linear map of what is added up, which {parts.model!r} is not.",
            f"Use model {', '.join(models_with('value_map'))}, or another --residual.",
        )
    if parts.skip == "none" and not entry.linear_skip:
        raise UsageError(
            f"--skip none takes away the linear skip of a layer, and {parts.model!r} has none of its own.",
            "Use --residual none to take away the residual.",
        )
    if parts.bias == "none" and not entry.linear_maps:
        raise UsageError(
            f"--bias none takes away the biases of linear maps, and a layer of {parts.model!r} is none.",
            f"Use model {', '.join(models_with('linear_maps'))}, or --bias layers.",
        )


_NOT_TO_FACTOR = {
    None: "it has no attention scores",
    ADDITIVE: "its scores are sums, so that there is no product of queries and keys to factor",
    DYNAMIC: "its scores pass a LeakyReLU before their product, so that there is no bilinear form to factor",
}


def _check_sharing(parts: Parts) -> None:
    """Heads share what enters products of queries and keys, and widths must fit."""
    sharing = parse_head_sharing(parts.head_sharing)
    entry = MODELS[parts.model]
    if sharing and not entry.shared:
        reason = _NOT_TO_FACTOR.get(entry.attention, "nobody has said how")
        raise UsageError(
            f"Heads of model {parts.model!r} cannot share queries and keys: {reason}.",
            f"Use model {' or '.join(models_with('shared'))}, or --head-sharing {NO_SHARING}.",
        )
    if parts.shared_dim and not sharing:
        raise UsageError(
            f"shared_dim is the width of keys that heads share, and it is {parts.shared_dim} while they share none.",
            f"Use --shared-dim 0, or --head-sharing {COLLAB}.",
        )
    if parts.mixing_init != "normal" and (not sharing or sharing.groups):
        raise UsageError(
            f"mixing_init is about heads that mix shared channels, which those of --head-sharing {parts.head_sharing} "
            "do not.",
            f"Use --mixing-init normal, or --head-sharing {COLLAB}.",
        )
    if sharing:
        _check_shared_width(parts, sharing, parts.hidden, parts.shared_dim)


def _check_shared_width(parts: Parts, sharing: HeadSharing, hidden: int, shared_dim: int) -> None:
    width = sharing.width(shared_dim, hidden=hidden, heads=parts.heads)
    if parts.mixing_init == "block" and width % parts.heads:
        raise UsageError(
            f"--mixing-init block gives every head equally many of the shared channels, and there are {width} for "
            f"{parts.heads} heads.",
            "Use a --shared-dim that the number of heads divides, or --mixing-init normal.",
        )


def _check_closed(parts: Parts) -> None:
    """Nothing acts between layers that pass on more than features."""
    obstacles = (
        (parts.residual != "none", f"residual {parts.residual!r}", "--residual none"),
        (parts.activation != "none", f"activation {parts.activation!r}", "--activation none"),
        (parts.norm != NO_NORM, f"norm {parts.norm!r}", f"--norm {NO_NORM}"),
        (parts.mlp != "none", f"MLPs ({parts.mlp})", "--mlp none"),
        (parts.jk != "none", f"joined layers ({parts.jk})", "--jk none"),
        (parts.stack != "plain", f"a {parts.stack} stack", "--stack plain"),
        (parts.layer_dropout != 0, f"layer dropout {parts.layer_dropout}", "--layer-dropout 0"),
        # Its weights are bounded where every edge goes both ways, and edges are dropped one by one.
        (parts.edge_dropout != 0, f"edge dropout {parts.edge_dropout}", "--edge-dropout 0"),
    )
    _refuse(f"Layers of {parts.model!r} pass more than features to each other", obstacles)


def _check_no_encoder(parts: Parts) -> None:
    """The first layer leads from one width to another: nothing can be added to its input, or mixed with it."""
    models = models_with("value_map")
    obstacles = (
        (parts.model not in models, f"model {parts.model!r}", f"--model {' or '.join(models)}"),
        (parts.stack != "plain", f"a {parts.stack} stack", "--stack plain"),
        (parts.residual not in ("none", "linear"), f"residual {parts.residual!r}", "--residual none or linear"),
        (
            parts.encoder_activation != "none",
            f"encoder activation {parts.encoder_activation!r}",
            "--encoder-activation none",
        ),
        (parts.norm_place == "pre", "a norm before it", "--norm-place branch or sum"),
    )
    _refuse("With --encoder none the first layer leads from the features to the width of the network", obstacles)


def _check_no_layers(parts: Parts) -> None:
    """One linear map: there is nothing to stack, to join or to balance."""
    obstacles = (
        (parts.stack != "plain", f"a {parts.stack} stack", "--stack plain"),
        (parts.jk != "none", f"joined layers ({parts.jk})", "--jk none"),
        (parts.init == "balanced", "--init balanced", "--init glorot"),
        (parts.encoder == "none", "--encoder none", "--encoder linear"),
    )
    _refuse("A network of no layers is one linear map", obstacles)


def _check_balanced(parts: Parts) -> None:
    """ReLU(v) − ReLU(−v) = v: what a network of mirrored maps must be for it to start linear."""
    plain = [name for name in models_with("value_map") if not MODELS[name].linear_skip]
    encoder = "relu" if parts.residual == "none" else "none"
    obstacles = (
        (parts.model not in plain, f"model {parts.model!r}", f"--model {' or '.join(plain)}"),
        (parts.activation != "relu", f"activation {parts.activation!r}", "--activation relu"),
        (parts.residual not in ("none", *SUMS), f"residual {parts.residual!r}", "--residual none or identity"),
        (parts.encoder == "none", "--encoder none", "--encoder linear"),
        (
            parts.encoder_activation != encoder,
            f"encoder activation {parts.encoder_activation!r} and residual {parts.residual!r}",
            f"--encoder-activation {encoder}",
        ),
        (parse_norm(parts.norm)[1] is not None, f"norm {parts.norm!r}", "--norm none or --norm lip"),
        (parts.hidden % 2 == 1, f"heads of an odd width {parts.hidden}", "an even --hidden"),
        (parts.mlp != "none", f"MLPs ({parts.mlp})", "--mlp none"),
        (parts.jk != "none", f"joined layers ({parts.jk})", "--jk none"),
        (parts.stack != "plain", f"a {parts.stack} stack", "--stack plain"),
    )
    _refuse("--init balanced starts a network as a linear one", obstacles)


def _check_reversible(parts: Parts) -> None:
    """Two halves of the features, each plus a function of the other: nothing else can be inverted."""
    if parts.residual not in SUMS:
        raise UsageError(f"A reversible stack needs a residual sum, got {parts.residual!r}.", "Use --residual scaled.")
    if parts.hidden % 2:
        raise UsageError(
            f"A reversible stack splits every head in two, and hidden is {parts.hidden}.", "Use an even --hidden."
        )
    if parts.shared_dim % 2:
        raise UsageError(
            f"A reversible stack splits shared keys in two as well, and shared_dim is {parts.shared_dim}.",
            "Use an even --shared-dim.",
        )
    if sharing := parse_head_sharing(parts.head_sharing):
        _check_shared_width(parts, sharing, parts.hidden // 2, parts.shared_dim // 2)
    if parts.jk != "none":
        raise UsageError(
            f"A reversible stack keeps the output of its last layer alone, and --jk {parts.jk} needs those of all.",
            "Use --jk none, or --stack plain.",
        )
    if parts.mlp != "none":
        raise UsageError("A reversible stack has no MLPs.", "Use --mlp none, or --stack plain.")
    if parts.norm_place == "sum":
        raise UsageError(
            "A norm after the residual sum cannot be inverted, and the stack is reversible.",
            "Use --norm-place branch, or --stack plain.",
        )
