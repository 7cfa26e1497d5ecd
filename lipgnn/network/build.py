"""What the layers of a network are made of, and how one of them is put together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields

from torch import nn

from lipgnn.catalog import (
    INITS,
    LINEAR_MODELS,
    MLPS,
    MODELS,
    NORM_PLACES,
    RESIDUALS,
    SKIPS,
    STACKS,
    SUMS,
    check_name,
    parse_norm,
    parse_weight_norm,
)
from lipgnn.network.blocks import Block, Branch, Gate
from lipgnn.network.reversible import ReversibleBlock
from lipgnn.nn import GATConv, GCNConv, GGNNConv, GINConv, Mlp, TransformerConv, bound_weights, initialize
from lipgnn.norms import NearIdentity, feature_norm
from lipgnn.spec.rules import check_network
from lipgnn.spec.run import RunSpec

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "elu": nn.ELU,
    "relu": nn.ReLU,
    "leaky-relu": lambda: nn.LeakyReLU(0.2),
    "gelu": nn.GELU,
    "tanh": nn.Tanh,
    "none": nn.Identity,
}
BASELINES = {"gcn": GCNConv, "gin": GINConv, "ggnn": GGNNConv}
ATTENTION = {"gat": GATConv, "gt": TransformerConv}


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """The options of a run that its layers depend on, by the names they have in RunSpec; bare layers by default.

    Raises
    ------
    UsageError : an unknown name, or parts that do not go together.
    """

    model: str = "gat"
    layers: int = 10
    hidden: int = 8
    heads: int = 8
    norm: str = "none"
    kappa: float = 4.0
    residual: str = "none"
    alpha: float = 0.1
    beta: float = 0.5
    skip: str = "own"
    mlp: str = "none"
    norm_place: str = "branch"
    weight_norm: str = "none"
    init: str = "glorot"
    activation: str = "elu"
    layer_dropout: float = 0.0
    attn_dropout: float = 0.0
    kernel: str = "auto"
    stack: str = "plain"

    def __post_init__(self) -> None:
        for kind, valid in (
            ("model", MODELS),
            ("residual", RESIDUALS),
            ("norm_place", NORM_PLACES),
            ("stack", STACKS),
            ("skip", SKIPS),
            ("mlp", MLPS),
            ("init", INITS),
            ("activation", ACTIVATIONS),
        ):
            check_name(kind.replace("_", " "), getattr(self, kind), valid)
        check_network(self)

    @classmethod
    def of(cls, spec: RunSpec) -> Architecture:
        """That of a run."""
        return cls(**{option.name: getattr(spec, option.name) for option in fields(cls)})

    @property
    def width(self) -> int:
        """Of the network throughout, whatever the kind of layer, so that kinds are compared at equal width."""
        return self.hidden * self.heads

    @property
    def scale(self) -> float:
        """The factor of what a layer adds to its input."""
        return self.layers**-0.5 if self.residual == "scaled" else 1.0

    def block(self, layer: int) -> nn.Module:
        """The block of this number, from 1 on, with new weights.

        In a reversible stack it is two branches of half the width, each with all heads at half of `hidden`.
        """
        if self.stack == "reversible":
            f, g = (Branch(*self._parts(self.hidden // 2, layer), **self._common) for _ in range(2))
            return ReversibleBlock(f, g, scale=self.scale)
        return Block(
            *self._parts(self.hidden, layer),
            **self._common,
            residual=self.residual,
            scale=self.scale,
            sum_norm=self._norm(self.width, "sum"),
            gate=Gate(self.width, self.layers) if self.residual == "gated" else None,
            alpha=self.alpha if self.residual == "initial" else 0.0,
            mlp=None if self.mlp == "none" else self._mlp_block(),
        )

    @property
    def _common(self) -> dict[str, object]:
        return {"kernel": self.kernel, "norm_first": self.norm_place == "pre"}

    def _parts(self, hidden: int, layer: int) -> tuple[nn.Module | None, ...]:
        conv = self._conv(hidden)
        if self.model in LINEAR_MODELS:
            self._prepare(conv)
        if self.residual == "initial":
            conv.value_map.add(NearIdentity(math.log(self.beta / layer + 1)))
        return self._around(conv, ACTIVATIONS[self.activation](), hidden * self.heads)

    def _mlp_block(self) -> Block:
        mlp = Mlp(self.width, 2 * self.width, ACTIVATIONS[self.activation]())
        self._prepare(mlp)
        # Where the layer keeps its input in some other way, a plain sum does for its MLP.
        residual = self.residual if self.residual in (*SUMS, "none") else "identity"
        parts = self._around(mlp, nn.Identity(), self.width)
        return Block(
            *parts, **self._common, residual=residual, scale=self.scale, sum_norm=self._norm(self.width, "sum")
        )

    def _conv(self, hidden: int) -> nn.Module:
        width = hidden * self.heads
        if self.model in BASELINES:
            return BASELINES[self.model](width, width)
        score, _ = parse_norm(self.norm)
        options = {"attn_drop": self.attn_dropout, "norm": score, "kappa": self.kappa, "kernel": self.kernel}
        if self.model == "gt":
            options["skip"] = self.skip == "own"
        return ATTENTION[self.model](width, hidden, self.heads, **options)

    def _prepare(self, conv: nn.Module) -> None:
        """Draw and bound its linear maps, in this order: a bound starts from the weights as they are."""
        initialize(conv.maps, self.init)
        if norm := parse_weight_norm(self.weight_norm):
            bound_weights(conv.maps, norm, self.layers)

    def _around(self, conv: nn.Module, activation: nn.Module, width: int) -> tuple[nn.Module | None, ...]:
        """What a branch is made of: dropout, convolution, norm, activation."""
        return nn.Dropout(self.layer_dropout), conv, self._norm(width, "branch", "pre"), activation

    def _norm(self, width: int, *places: str) -> nn.Module | None:
        """A feature norm, if there is one and it acts at one of these places."""
        _, feature = parse_norm(self.norm)
        return feature_norm(feature, width) if feature and self.norm_place in places else None
