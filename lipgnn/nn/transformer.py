"""The Graph Transformer layer, with a place for a score norm and for types of edges."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import torch
from torch import nn

from lipgnn.errors import UsageError
from lipgnn.kernels import fused
from lipgnn.kernels.edge_types import types_of
from lipgnn.nn.dot_product import DotProductConv
from lipgnn.nn.ends import Ends
from lipgnn.nn.lanes import of_heads
from lipgnn.nn.linear_map import LinearMap
from lipgnn.norms.scores.dot_product import products
from lipgnn.runtime import dgl


class TransformerConv(DotProductConv):
    """Dot-product attention over the neighbours of a node, with a linear skip.

    For every head, with q = W_q x + b_q, k = W_k x + b_k, v = W_v x + b_v,

        α_ij = softmax_{j∈N(i)} ( q_i·k_j / √D ),   y_i = Σ_j α_ij v_j + W_skip x_i + b_skip

    With `norm="lip"` the scores are those of `DotProductLipschitzNorm` instead. Where edges have types, each type t has
    a learned code e_t for every head, and the key of an edge of that type is k_j + e_t: the scores are q_i·(k_j + e_t).
    That is attention with relative positions where types are such (Shaw, Uszkoreit & Vaswani, "Self-Attention with
    Relative Position Representations", NAACL 2018, equation 4, without their codes of values).

    Equal to PyTorch Geometric's layer of the same name when its `lin_query, lin_key, lin_value, lin_skip` are copied
    over, also from nodes of one kind to nodes of another. Of its options there are not: `beta`, a learned gate between
    skip and attention, which is not Lipschitz; `edge_dim`, features of edges, which PyTorch Geometric adds to keys and
    to values, where a code here is added to the key alone; `concat=False`, which is `.mean(dim=-2)` of the output,
    before the skip is added.

    Reference: Shi et al., "Masked Label Prediction", IJCAI 2021, equations 3 and 4.

    Its arguments are those of `DotProductConv`, and one more. A norm that is a module is called with the keys of all
    edges (E, H, D) besides, as `edge_key`, where these have types.

    Parameters
    ----------
    edge_types : how many types of edges there are; graphs then say those of their edges, from 0 on, in
        `graph.edata["edge_type"]`. With 0 the layer does not look at types.
    """

    heads_apart = True
    typed_edges = True

    def __init__(self, *arguments: Any, edge_types: int = 0, **options: Any):
        if edge_types < 0:
            raise UsageError(f"edge_types must be a number of types, or 0 for none, got {edge_types!r}.")
        super().__init__(*arguments, **options)
        self.edge_types = edge_types
        shape = (edge_types, self.num_heads, self.out_feats)
        self.register_parameter("edge_type", nn.Parameter(torch.empty(shape)) if edge_types else None)
        self._draw_codes()

    def reset_parameters(self) -> None:
        """Draw new weights: Glorot uniform; biases zero; codes of types normal, as tables of learned rows are."""
        super().reset_parameters()
        self._draw_codes()

    def _draw_codes(self) -> None:
        # There are none yet while the base is made.
        if (codes := self._parameters.get("edge_type")) is not None:
            nn.init.normal_(codes)

    def _make_score_maps(self, source_feats: int, target_feats: int, bias: bool) -> None:
        width = self.num_heads * self.out_feats
        self.query = nn.Linear(target_feats, width, bias=bias)
        self.key = nn.Linear(source_feats, width, bias=bias)

    def kernel_on(self, device: torch.device) -> ModuleType | None:
        """The kernel, as of every layer with attention; one of them knows types of edges."""
        kernel = super().kernel_on(device)
        if kernel not in (None, fused) and self.edge_type is not None:
            raise UsageError(f"Kernel {self.kernel!r} does not know types of edges.", "Use kernel='auto' or 'dgl'.")
        return kernel

    def _projected(self, ends: Ends, *, heads_fastest: bool) -> list[torch.Tensor]:
        """Query (M, H, D) of the targets, key and value (N, H, D) of the sources."""
        maps = ((self.query, ends.target), (self.key, ends.source), (self.value, ends.source))
        return [self._project(own, x, self.num_heads, heads_fastest=heads_fastest) for own, x in maps]

    def _further(self, heads: torch.Tensor | None = None) -> dict[str, torch.Tensor]:
        return {} if self.edge_type is None else {"codes": of_heads(self.edge_type, heads)}

    def scores(self, graph: dgl.DGLGraph, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Scores of all edges, (E, H, 1), from query (M, H, D) of targets, key and value (N, H, D) of sources."""
        if self.edge_type is None:
            return super().scores(graph, query, key, value)
        codes = self.edge_type.index_select(0, types_of(graph, self.edge_types))
        edge_key = dgl.ops.u_add_e(graph, key, codes)  # (E, H, D)
        if self.norm is not None:
            return self.norm(graph, query, key, value, edge_key=edge_key)
        return products(graph, self._scaled(query), key, edge_key)

    def _scaled(self, query: torch.Tensor) -> torch.Tensor:
        return query / math.sqrt(self.out_feats)

    @property
    def _score_maps(self) -> list[LinearMap]:
        return [LinearMap(linear, heads=self.num_heads) for linear in (self.query, self.key)]

    @property
    def _projection(self) -> torch.Tensor:
        return torch.cat([self.query.weight, self.key.weight, self.value.weight])
