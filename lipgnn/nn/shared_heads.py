"""The Graph Transformer layer whose heads share one query and one key, each in a mixture of its own."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import torch
from torch import nn

from lipgnn.catalog import MIXING_INITS, SHARED_PRODUCT, check_name
from lipgnn.errors import UsageError
from lipgnn.kernels import affine, fused
from lipgnn.nn.dot_product import DotProductConv
from lipgnn.nn.ends import Ends
from lipgnn.nn.linear_map import LinearMap
from lipgnn.nn.slices import Projected
from lipgnn.runtime import dgl
from lipgnn.spec.head_sharing import HeadSharing, parse_head_sharing
from lipgnn.spec.network import NetworkSpec

# Of the mixing at first, in the authors' released code.
_DEVIATION = 0.2


class SharedHeadsConv(DotProductConv):
    """Collaborative heads: dot-product attention whose heads share queries and keys, and mix their channels.

    With q̃ = W̃_q x + b̃_q and k̃ = W̃_k x + b̃_k of width D̃ for all heads, and one vector m_h for each,

        α_ij = softmax_{j∈N(i)} ( s · Σ_r m_hr q̃_ir k̃_jr ),   y_i = Σ_j α_ij v_j + W_skip x_i + b_skip

    Values and skip are those of `TransformerConv`, and with D̃ = H·D and blocks of ones as mixing it is that layer. It
    has (2F + H)·D̃ weights for its scores instead of 2F·H·D; an edge costs H·D̃ products instead of H·D. The scale
    s = 1/√D is part of the state, because it belongs to the weights: the published code computes it from D̃, which
    makes the attention of a compressed layer sharper. With `norm="lip"` the scores are those of
    `DotProductLipschitzNorm` instead, by lengths that are split between query and key, which is ours.

    Reference: Cordonnier, Loukas & Jaggi, "Multi-Head Attention: Collaborate Instead of Concatenate", 2020, section 3.
    The paper is about language and images; on graphs it is ours.

    Parameters
    ----------
    in_feats, out_feats, num_heads, args, more : of `DotProductConv`; a module as norm is called as
        `norm(graph, query, key, value, mixing)` with query (M, D̃) and key (N, D̃).
    shared_dim : D̃; H·D without.
    mixing_init : "normal", with deviation 0.2, or "block": D̃/H channels for every head.
    """

    attention = SHARED_PRODUCT
    scale: torch.Tensor

    def __init__(
        self,
        in_feats: int | tuple[int, int],
        out_feats: int,
        num_heads: int,
        *args: Any,
        shared_dim: int | None = None,
        mixing_init: str = "normal",
        **more: Any,
    ):
        check_name("mixing_init", mixing_init, MIXING_INITS)
        self.shared_dim = num_heads * out_feats if shared_dim is None else shared_dim
        self.mixing_init = mixing_init
        if self.shared_dim < 1 or (mixing_init == "block" and self.shared_dim % num_heads):
            raise UsageError(
                f"shared_dim must be a positive whole number, and for mixing_init 'block' a multiple of {num_heads} "
                f"heads, got {shared_dim}."
            )
        super().__init__(in_feats, out_feats, num_heads, *args, **more)

    def _make_score_maps(self, source_feats: int, target_feats: int, bias: bool) -> None:
        self.query = nn.Linear(target_feats, self.shared_dim, bias=bias)
        self.key = nn.Linear(source_feats, self.shared_dim, bias=bias)
        self.mixing = nn.Parameter(torch.empty(self.num_heads, self.shared_dim))
        register_scale(self)

    @classmethod
    def from_spec(cls, spec: NetworkSpec, width: int, **more: Any) -> SharedHeadsConv:
        """The layer of this network."""
        _, shared_dim = sharing_in(spec, width)
        return super().from_spec(spec, width, shared_dim=shared_dim, mixing_init=spec.mixing_init, **more)

    def reset_parameters(self) -> None:
        """Draw new weights: Glorot uniform; biases zero; the mixing normal or in blocks of ones."""
        super().reset_parameters()
        if self.mixing_init == "normal":
            nn.init.normal_(self.mixing, std=_DEVIATION)
            return
        own = torch.eye(self.num_heads, dtype=self.mixing.dtype, device=self.mixing.device)
        with torch.no_grad():
            self.mixing.copy_(own.repeat_interleave(self.shared_dim // self.num_heads, dim=1))

    def _fused(self, kernel: ModuleType, graph: dgl.DGLGraph, projected: Projected, **more: Any) -> torch.Tensor:
        return kernel.shared_product(graph, **self._arguments(projected), **more)

    def _fused_spread(self, graph: dgl.DGLGraph, projected: Projected) -> tuple[torch.Tensor, torch.Tensor]:
        return fused.shared_product_spread(graph, **self._arguments(projected))

    def _arguments(self, projected: Projected) -> dict[str, torch.Tensor | float | None]:
        query, key, value = projected
        features = {"query": query, "key": key, "mixing": self.mixing, "value": value}
        return {**features, "scale": self.scale.item(), "kappa": self._kappa}

    def _projected(self, ends: Ends, *, heads_fastest: bool) -> list[torch.Tensor]:
        """Query (M, D̃) of the targets, key (N, D̃) and value (N, H, D) of the sources."""
        query, key = (
            affine(x, own.weight, own.bias, self.kernel)
            for own, x in ((self.query, ends.target), (self.key, ends.source))
        )
        return [query, key, self._project(self.value, ends.source, self.num_heads, heads_fastest=heads_fastest)]

    def scores(self, graph: dgl.DGLGraph, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Scores of all edges, (E, H, 1), from query (M, D̃) of targets, key (N, D̃) and value (N, H, D) of sources."""
        if self.norm is None:
            return self._products(graph, query, key.unsqueeze(1))
        return self.norm(graph, query, key, value, self.mixing)

    def _scaled(self, query: torch.Tensor) -> torch.Tensor:
        return query.unsqueeze(1) * (self.scale * self.mixing)  # (M, H, D̃)

    @property
    def score_weights(self) -> list[nn.Parameter]:
        """What scores are made of beside the maps."""
        return [self.mixing]

    @property
    def _score_maps(self) -> list[LinearMap]:
        return [LinearMap(linear) for linear in (self.query, self.key)]

    @property
    def _projection(self) -> torch.Tensor:
        # √|m_hr| times row r for every head h; all heads together are as long as this one row.
        of_channels = self.mixing.abs().sum(dim=0).sqrt().unsqueeze(1)
        return torch.cat([of_channels * self.query.weight, of_channels * self.key.weight, self.value.weight])


def register_scale(layer: DotProductConv) -> None:
    """Give a layer the factor of its scores, 1/√D, as part of its state."""
    # In float64, so that a layer in that type has all of its digits.
    layer.register_buffer("scale", torch.tensor(1 / math.sqrt(layer.out_feats), dtype=torch.float64))


def sharing_in(spec: NetworkSpec, width: int) -> tuple[HeadSharing, int]:
    """How the heads of this network's layers share keys, and the width of these in a layer of `width` channels.

    Where that is less than the network has, as in a reversible stack, keys are so in proportion.
    """
    sharing, own = parse_head_sharing(spec.head_sharing), spec.shared_dim * width // spec.width
    return sharing, sharing.width(own, hidden=width // spec.heads, heads=spec.heads)
