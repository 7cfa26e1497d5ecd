"""The Graph Transformer layer, with a place for a score norm."""

from __future__ import annotations

import math

import torch
from torch import nn

from lipgnn.nn.dot_product import DotProductConv
from lipgnn.nn.ends import Ends
from lipgnn.nn.linear_map import LinearMap


class TransformerConv(DotProductConv):
    """Dot-product attention over the neighbours of a node, with a linear skip.

    For every head, with q = W_q x + b_q, k = W_k x + b_k, v = W_v x + b_v,

        α_ij = softmax_{j∈N(i)} ( q_i·k_j / √D ),   y_i = Σ_j α_ij v_j + W_skip x_i + b_skip

    With `norm="lip"` the scores are those of `DotProductLipschitzNorm` instead. Equal to PyTorch Geometric's
    layer of the same name when its `lin_query, lin_key, lin_value, lin_skip` are copied over, also from nodes of one
    kind to nodes of another. Of its options there are not: `beta`, a learned gate between skip and attention, which is
    not Lipschitz; `edge_dim`, features of edges; `concat=False`, which is `.mean(dim=-2)` of the output, before the
    skip is added.

    Reference: Shi et al., "Masked Label Prediction", IJCAI 2021, equations 3 and 4.

    Its arguments are those of `DotProductConv`.
    """

    def _make_score_maps(self, source_feats: int, target_feats: int, bias: bool) -> None:
        width = self.num_heads * self.out_feats
        self.query = nn.Linear(target_feats, width, bias=bias)
        self.key = nn.Linear(source_feats, width, bias=bias)

    def _projected(self, ends: Ends, *, heads_fastest: bool) -> list[torch.Tensor]:
        """Query (M, H, D) of the targets, key and value (N, H, D) of the sources."""
        maps = ((self.query, ends.target), (self.key, ends.source), (self.value, ends.source))
        return [self._project(own, x, self.num_heads, heads_fastest=heads_fastest) for own, x in maps]

    def _scaled(self, query: torch.Tensor) -> torch.Tensor:
        return query / math.sqrt(self.out_feats)

    @property
    def _score_maps(self) -> list[LinearMap]:
        return [LinearMap(linear, heads=self.num_heads) for linear in (self.query, self.key)]

    @property
    def _projection(self) -> torch.Tensor:
        return torch.cat([self.query.weight, self.key.weight, self.value.weight])
