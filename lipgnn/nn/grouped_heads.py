"""The Graph Transformer layer whose heads share keys in groups, as in multi-query and grouped-query attention."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import torch
from torch import nn

from lipgnn.errors import UsageError
from lipgnn.kernels import fused
from lipgnn.nn.dot_product import DotProductConv
from lipgnn.nn.ends import Ends
from lipgnn.nn.linear_map import LinearMap
from lipgnn.nn.shared_heads import register_scale, sharing_in
from lipgnn.nn.slices import Projected
from lipgnn.runtime import dgl
from lipgnn.spec.network import NetworkSpec


class GroupedHeadsConv(DotProductConv):
    """Dot-product attention whose heads have queries of their own and one key for each of G groups of heads.

    With g(h) the group of head h, queries and keys of width d = D̃/G, and the scale s = 1/√D, a part of the state,

        α_ij = softmax_{j∈N(i)} ( s · q_ih·k_jg(h) ),   y_i = Σ_j α_ij v_j + W_skip x_i + b_skip

    One group is multi-query attention (mqa), more are grouped-query attention (gqa:G). It is `SharedHeadsConv` with
    blocks of ones as mixing and keys that are equal within a group. The papers share values in the same groups; here
    every head keeps its own, so that sharing queries and keys alone is what is compared.

    Reference: Shazeer, "Fast Transformer Decoding: One Write-Head is All You Need", 2019; Ainslie et al., "GQA:
    Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints", EMNLP 2023.

    Parameters
    ----------
    in_feats, out_feats, num_heads, args, more : of `DotProductConv`.
    groups : G, which divides the number of heads.
    shared_dim : D̃, the width of the keys of all groups, which G divides; G·D without.
    """

    scale: torch.Tensor

    def __init__(
        self,
        in_feats: int | tuple[int, int],
        out_feats: int,
        num_heads: int,
        *args: Any,
        groups: int = 1,
        shared_dim: int | None = None,
        **more: Any,
    ):
        self.groups = groups
        self.shared_dim = groups * out_feats if shared_dim is None else shared_dim
        if groups < 1 or num_heads % groups or self.shared_dim < 1 or self.shared_dim % groups:
            raise UsageError(
                f"groups must divide the heads and shared_dim, got {groups} groups, {num_heads} heads and "
                f"{self.shared_dim} channels."
            )
        super().__init__(in_feats, out_feats, num_heads, *args, **more)

    def _make_score_maps(self, source_feats: int, target_feats: int, bias: bool) -> None:
        self.query = nn.Linear(target_feats, self.num_heads * (self.shared_dim // self.groups), bias=bias)
        self.key = nn.Linear(source_feats, self.shared_dim, bias=bias)
        register_scale(self)

    @classmethod
    def from_spec(cls, spec: NetworkSpec, width: int, **more: Any) -> GroupedHeadsConv:
        """The layer of this network."""
        sharing, shared_dim = sharing_in(spec, width)
        return super().from_spec(spec, width, shared_dim=shared_dim, groups=sharing.groups, **more)

    def _as_plain(self, projected: Projected) -> list[torch.Tensor]:
        """The same for a kernel of plain heads: all of one width, and scores divided by its root."""
        query, key, value = projected
        own, width = query.shape[-1], max(query.shape[-1], self.out_feats)
        if self.norm is None:
            query = query * (self.scale * math.sqrt(width))
        pad = nn.functional.pad
        return [pad(query, (0, width - own)), pad(key, (0, width - own)), pad(value, (0, width - self.out_feats))]

    def _fused(self, kernel: ModuleType, graph: dgl.DGLGraph, projected: Projected, **more: Any) -> torch.Tensor:
        return kernel.dot_product(graph, *self._as_plain(projected), kappa=self._kappa, **more)[..., : self.out_feats]

    def _fused_spread(self, graph: dgl.DGLGraph, projected: Projected) -> tuple[torch.Tensor, torch.Tensor]:
        return fused.dot_product_spread(graph, *self._as_plain(projected), kappa=self._kappa)

    def _projected(self, ends: Ends, *, heads_fastest: bool) -> list[torch.Tensor]:
        """Query (M, H, d) of the targets, key (N, H, d) and value (N, H, D) of the sources."""
        query = self._project(self.query, ends.target, self.num_heads, heads_fastest=heads_fastest)
        key = self._project(self.key, ends.source, self.groups, heads_fastest=heads_fastest)
        value = self._project(self.value, ends.source, self.num_heads, heads_fastest=heads_fastest)
        members = self.num_heads // self.groups
        if heads_fastest:
            return [query, key.transpose(-1, -2).repeat_interleave(members, dim=-1).transpose(-1, -2), value]
        return [query, key.repeat_interleave(members, dim=-2), value]

    def _scaled(self, query: torch.Tensor) -> torch.Tensor:
        return query * self.scale

    @property
    def _score_maps(self) -> list[LinearMap]:
        return [LinearMap(self.query, heads=self.num_heads), LinearMap(self.key, heads=self.groups)]

    @property
    def _projection(self) -> torch.Tensor:
        # Every head has the rows of its group's key; those of all heads of a group are as long as √(H/G) times these.
        keys = math.sqrt(self.num_heads / self.groups) * self.key.weight
        return torch.cat([self.query.weight, keys, self.value.weight])
