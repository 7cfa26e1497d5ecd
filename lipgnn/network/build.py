"""How a block of a network is put together from what its specification says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from lipgnn.catalog import MODELS, SUMS, parse_norm
from lipgnn.network.blocks import Block, Branch, Gate
from lipgnn.network.reversible import ReversibleBlock
from lipgnn.nn import Mlp, bound_weights, initialize
from lipgnn.nn.activations import ACTIVATIONS
from lipgnn.nn.contract import layer_of, maps_of, score_norm_of, score_weights_of
from lipgnn.nn.dropout import FeatureDropout
from lipgnn.nn.linear_map import LinearMap, draw_uniform_
from lipgnn.nn.projection import Projection
from lipgnn.norms import NearIdentity, feature_norm
from lipgnn.spec.head_sharing import NO_SHARING, parse_head_sharing
from lipgnn.spec.network import NetworkSpec
from lipgnn.spec.weight_norm import parse_weight_norm


@dataclass(frozen=True)
class Builder:
    """Builds the blocks of the network that a specification describes.

    Attributes
    ----------
    spec : that of the network.
    edge_types : how many types of edges its graphs have; layers that do not tell them apart are as without.
    in_feats : the width of what the first block is given, where no encoder brings it to that of the network.
    """

    spec: NetworkSpec
    edge_types: int = 0
    in_feats: int | None = None

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
            beside=self._beside(layer) if self.spec.residual == "linear" else None,
            gate=Gate(self.spec.width, self.spec.layers) if self.spec.residual == "gated" else None,
            alpha=self.spec.alpha if self.spec.residual == "initial" else 0.0,
            mlp=None if self.spec.mlp == "none" else self._mlp_block(),
        )

    @property
    def _common(self) -> dict[str, object]:
        return {"kernel": self.spec.kernel, "norm_first": self.spec.norm_place == "pre"}

    def _parts(self, hidden: int, layer: int) -> tuple[nn.Module | None, ...]:
        width = hidden * self.spec.heads
        conv = layer_of(_kind(self.spec), self.spec, width, layer, self.edge_types, self._in_feats(layer))
        self._prepare(maps_of(conv), self.spec.init)
        self._draw_scores(conv)
        if self.spec.residual == "initial":
            conv.value_map.add(NearIdentity(math.log(self.spec.beta / layer + 1)))
        first = layer == 1 and self.spec.dropout_from == "layers"
        return self._around(conv, ACTIVATIONS[self.spec.activation](), width, 0.0 if first else self.spec.layer_dropout)

    def _in_feats(self, layer: int) -> int | None:
        """The width of a block's input, where it may be another one than that of its output."""
        return self.in_feats if layer == 1 else None

    def _draw_scores(self, conv: nn.Module) -> None:
        """Draw what scores are made of beside the maps, where that is not left to the layer."""
        if self.spec.init == "balanced" and score_norm_of(conv) is None:
            # A score norm would divide zero by zero, and make any score of full size after one step.
            for parameter in score_weights_of(conv):
                nn.init.zeros_(parameter)
        elif self.spec.init == "pyg" and self.spec.head_sharing == NO_SHARING:
            for parameter in score_weights_of(conv):
                draw_uniform_(parameter)

    def _mlp_block(self) -> Block:
        mlp = Mlp(self.spec.width, 2 * self.spec.width, ACTIVATIONS[self.spec.activation](), self.spec.bias == "layers")
        self._prepare(maps_of(mlp), self.spec.init)
        # Where the layer keeps its input in some other way, a plain sum does for its MLP.
        residual = self.spec.residual if self.spec.residual in (*SUMS, "none") else "identity"
        parts = self._around(mlp, nn.Identity(), self.spec.width, self.spec.layer_dropout)
        return Block(
            *parts,
            **self._common,
            residual=residual,
            scale=self.spec.scale,
            sum_norm=self._norm(self.spec.width, "sum"),
        )

    def _beside(self, layer: int) -> nn.Linear:
        """The map of residual linear; the layer itself has the bias."""
        width, in_feats = self.spec.width, self._in_feats(layer)
        linear = Projection(width if in_feats is None else in_feats, width, bias=False, kernel=self.spec.kernel)
        if self.spec.init == "torch-ends":
            nn.init.xavier_uniform_(linear.weight)
        self._prepare([LinearMap(linear, last=True)], "glorot" if self.spec.init == "pyg" else self.spec.init)
        return linear

    def _prepare(self, maps: Sequence[LinearMap], init: str) -> None:
        """Draw and bound linear maps, in this order: a bound starts from the weights as they are."""
        initialize(maps, init, self.spec.heads)
        if norm := parse_weight_norm(self.spec.weight_norm):
            bound_weights(maps, norm, self.spec.layers)

    def _around(
        self, conv: nn.Module, activation: nn.Module, width: int, dropout: float
    ) -> tuple[nn.Module | None, ...]:
        """What a branch is made of: dropout, convolution, norm, activation."""
        return (
            FeatureDropout(dropout, self.spec.kernel),
            conv,
            self._norm(width, "branch", "pre"),
            activation,
        )

    def _norm(self, width: int, *places: str) -> nn.Module | None:
        """A feature norm, if there is one and it acts at one of these places."""
        _, feature = parse_norm(self.spec.norm)
        return feature_norm(feature, width) if feature and self.spec.norm_place in places else None


def _kind(spec: NetworkSpec) -> type[nn.Module]:
    """The class of a network's layers."""
    entry, sharing = MODELS[spec.model], parse_head_sharing(spec.head_sharing)
    return entry.load_shared(sharing.kind) if sharing else entry.load()


def example_block(spec: NetworkSpec) -> nn.Module:
    """A small block of this network, to ask what its parts say of themselves; nothing is drawn from the generators."""
    sharing = parse_head_sharing(spec.head_sharing)
    heads = sharing.groups or 1 if sharing else 1
    with torch.random.fork_rng(devices=[]):
        return Builder(replace(spec, hidden=2, heads=heads, shared_dim=0, layers=1)).block(1)
