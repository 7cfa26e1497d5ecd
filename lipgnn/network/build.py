"""How a block of a network is put together from what its specification says."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from lipgnn.catalog import LINEAR_MODELS, SUMS, parse_norm, parse_weight_norm
from lipgnn.network.blocks import Block, Branch, Gate
from lipgnn.network.reversible import ReversibleBlock
from lipgnn.nn import GATConv, GCNConv, GGNNConv, GINConv, Mlp, TransformerConv, bound_weights, initialize
from lipgnn.norms import NearIdentity, feature_norm
from lipgnn.spec.network import NetworkSpec

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


@dataclass(frozen=True)
class Builder:
    """Builds the blocks of the network that a specification describes."""

    spec: NetworkSpec

    def block(self, layer: int) -> nn.Module:
        """The block of this number, from 1 on, with new weights.

        In a reversible stack it is two branches of half the width, each with all heads at half of `hidden`.
        """
        if self.spec.stack == "reversible":
            f, g = (Branch(*self._parts(self.spec.hidden // 2, layer), **self._common) for _ in range(2))
            return ReversibleBlock(f, g, scale=self.spec.scale)
        return Block(
            *self._parts(self.spec.hidden, layer),
            **self._common,
            residual=self.spec.residual,
            scale=self.spec.scale,
            sum_norm=self._norm(self.spec.width, "sum"),
            gate=Gate(self.spec.width, self.spec.layers) if self.spec.residual == "gated" else None,
            alpha=self.spec.alpha if self.spec.residual == "initial" else 0.0,
            mlp=None if self.spec.mlp == "none" else self._mlp_block(),
        )

    @property
    def _common(self) -> dict[str, object]:
        return {"kernel": self.spec.kernel, "norm_first": self.spec.norm_place == "pre"}

    def _parts(self, hidden: int, layer: int) -> tuple[nn.Module | None, ...]:
        conv = self._conv(hidden)
        if self.spec.model in LINEAR_MODELS:
            self._prepare(conv)
        if self.spec.residual == "initial":
            conv.value_map.add(NearIdentity(math.log(self.spec.beta / layer + 1)))
        return self._around(conv, ACTIVATIONS[self.spec.activation](), hidden * self.spec.heads)

    def _mlp_block(self) -> Block:
        mlp = Mlp(self.spec.width, 2 * self.spec.width, ACTIVATIONS[self.spec.activation]())
        self._prepare(mlp)
        # Where the layer keeps its input in some other way, a plain sum does for its MLP.
        residual = self.spec.residual if self.spec.residual in (*SUMS, "none") else "identity"
        parts = self._around(mlp, nn.Identity(), self.spec.width)
        return Block(
            *parts,
            **self._common,
            residual=residual,
            scale=self.spec.scale,
            sum_norm=self._norm(self.spec.width, "sum"),
        )

    def _conv(self, hidden: int) -> nn.Module:
        width = hidden * self.spec.heads
        if self.spec.model in BASELINES:
            return BASELINES[self.spec.model](width, width)
        score, _ = parse_norm(self.spec.norm)
        options = {
            "attn_drop": self.spec.attn_dropout,
            "norm": score,
            "kappa": self.spec.kappa,
            "kernel": self.spec.kernel,
        }
        if self.spec.model == "gt":
            options["skip"] = self.spec.skip == "own"
        return ATTENTION[self.spec.model](width, hidden, self.spec.heads, **options)

    def _prepare(self, conv: nn.Module) -> None:
        """Draw and bound its linear maps, in this order: a bound starts from the weights as they are."""
        initialize(conv.maps, self.spec.init)
        if norm := parse_weight_norm(self.spec.weight_norm):
            bound_weights(conv.maps, norm, self.spec.layers)

    def _around(self, conv: nn.Module, activation: nn.Module, width: int) -> tuple[nn.Module | None, ...]:
        """What a branch is made of: dropout, convolution, norm, activation."""
        return nn.Dropout(self.spec.layer_dropout), conv, self._norm(width, "branch", "pre"), activation

    def _norm(self, width: int, *places: str) -> nn.Module | None:
        """A feature norm, if there is one and it acts at one of these places."""
        _, feature = parse_norm(self.spec.norm)
        return feature_norm(feature, width) if feature and self.spec.norm_place in places else None
