"""The Graph Transformer layer, with a place for a score norm."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import torch
from torch import nn

from lipgnn.catalog import DOT_PRODUCT
from lipgnn.errors import UsageError
from lipgnn.kernels import affine, fused
from lipgnn.kernels.edge_types import types_of
from lipgnn.nn.attention import AttentionConv, aggregate
from lipgnn.nn.ends import Ends
from lipgnn.nn.linear_map import LinearMap
from lipgnn.nn.projection import Projection, project
from lipgnn.norms import score_norm
from lipgnn.norms.lengths import spectral_norm
from lipgnn.norms.scores.dot_product import products
from lipgnn.runtime import dgl
from lipgnn.spec.network import NetworkSpec


class TransformerConv(AttentionConv):
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

    Parameters
    ----------
    in_feats, out_feats, num_heads : input width F, or the pair of that of sources and that of targets; width D of one
        head, number of heads H.
    feat_drop, attn_drop : dropout on the input and on the attention weights.
    skip : add the linear skip.
    bias : biases in all four maps.
    allow_zero_in_degree : let nodes without in-edges pass; their output is the skip alone.
    norm : None, "lip", another name of `lipgnn.catalog.SCORE_NORMS` for dot products, or a module called as
        `norm(graph, query, key, value)` that returns scores (E, H, 1); with edge types it is given the keys of edges
        (E, H, D) besides.
    kappa, query_norm : of DotProductLipschitzNorm; used with "lip" only.
    kernel : "auto", "dgl", "fused" or "triton": what computes the attention (see `lipgnn.kernels`).
    edge_types : how many types of edges there are; graphs then say those of their edges, from 0 on, in
        `graph.edata["edge_type"]`. With 0 the layer does not look at types.
    """

    attention = DOT_PRODUCT
    linear_skip = True
    typed_edges = True

    def __init__(
        self,
        in_feats: int | tuple[int, int],
        out_feats: int,
        num_heads: int,
        feat_drop: float = 0.0,
        attn_drop: float = 0.0,
        skip: bool = True,
        bias: bool = True,
        allow_zero_in_degree: bool = False,
        *,
        norm: str | nn.Module | None = None,
        kappa: float = 1.0,
        query_norm: str = "node",
        kernel: str = "auto",
        edge_types: int = 0,
    ):
        own = {} if query_norm == "node" else {"query_norm": query_norm}
        super().__init__(
            out_feats,
            num_heads,
            feat_drop=feat_drop,
            attn_drop=attn_drop,
            allow_zero_in_degree=allow_zero_in_degree,
            norm=score_norm(norm, DOT_PRODUCT, kappa=kappa, **own),
            kernel=kernel,
        )
        width = num_heads * out_feats
        source_feats, target_feats = in_feats if isinstance(in_feats, tuple) else (in_feats, in_feats)
        self.query = nn.Linear(target_feats, width, bias=bias)
        self.key = nn.Linear(source_feats, width, bias=bias)
        self.value = nn.Linear(source_feats, width, bias=bias)
        self.skip = Projection(target_feats, width, bias=bias, kernel=kernel) if skip else None
        if edge_types < 0:
            raise UsageError(f"edge_types must be a number of types, or 0 for none, got {edge_types!r}.")
        self.edge_types = edge_types
        self.edge_type = nn.Parameter(torch.empty(edge_types, num_heads, out_feats)) if edge_types else None
        self.reset_parameters()

    @classmethod
    def from_spec(cls, spec: NetworkSpec, width: int, **more: Any) -> TransformerConv:
        """The layer of this network, with its linear skip if that has one."""
        return super().from_spec(spec, width, skip=spec.skip == "own", **more)

    def reset_parameters(self) -> None:
        """Draw new weights: Glorot uniform; biases zero; codes of types normal, as tables of learned rows are."""
        for linear in filter(None, (self.query, self.key, self.value, self.skip)):
            nn.init.xavier_uniform_(linear.weight)
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)
        if self.edge_type is not None:
            nn.init.normal_(self.edge_type)

    @property
    def _source_map(self) -> nn.Linear:
        return self.key

    @property
    def _target_map(self) -> nn.Linear:
        return self.query

    def _reference(
        self, graph: dgl.DGLGraph, ends: Ends, edge_weight: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        query, key, value = self._projected(ends, heads_fastest=False)
        return aggregate(graph, self.scores(graph, query, key, value), value, self.attn_drop, edge_weight)

    def _fused(self, kernel: ModuleType, graph: dgl.DGLGraph, ends: Ends, **more: Any) -> torch.Tensor:
        heads_fastest = kernel.heads_fastest(self.num_heads, self.out_feats)
        projected = self._projected(ends, heads_fastest=heads_fastest)
        return kernel.dot_product(graph, *projected, kappa=self._kappa, **self._codes, **more)

    def _fused_spread(self, graph: dgl.DGLGraph, ends: Ends) -> tuple[torch.Tensor, torch.Tensor]:
        heads_fastest = fused.heads_fastest(self.num_heads, self.out_feats)
        projected = self._projected(ends, heads_fastest=heads_fastest)
        return fused.dot_product_spread(graph, *projected, kappa=self._kappa, **self._codes)

    @property
    def _codes(self) -> dict[str, torch.Tensor]:
        return {} if self.edge_type is None else {"codes": self.edge_type}

    def _projected(self, ends: Ends, *, heads_fastest: bool) -> list[torch.Tensor]:
        """Query (M, H, D) of the targets, key and value (N, H, D) of the sources."""
        maps = ((self.query, ends.target), (self.key, ends.source), (self.value, ends.source))
        return [project(own, x, self.num_heads, heads_fastest=heads_fastest, kernel=self.kernel) for own, x in maps]

    def kernel_on(self, device: torch.device) -> ModuleType | None:
        """The kernel, as of every layer with attention, of which one knows types of edges."""
        kernel = super().kernel_on(device)
        if kernel not in (None, fused) and self.edge_type is not None:
            raise UsageError(f"Kernel {self.kernel!r} does not know types of edges.", "Use kernel='auto' or 'dgl'.")
        return kernel

    def _with_passed(self, out: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return out if self.skip is None else out + self._heads(self.skip(target))

    def scores(self, graph: dgl.DGLGraph, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Scores of all edges, (E, H, 1), from query (M, H, D) of targets, key and value (N, H, D) of sources."""
        coded = () if self.edge_type is None else (self._edge_keys(graph, key),)
        if self.norm is not None:
            return self.norm(graph, query, key, value, *coded)
        return products(graph, query / math.sqrt(self.out_feats), key, *coded)

    def _edge_keys(self, graph: dgl.DGLGraph, key: torch.Tensor) -> torch.Tensor:
        """k_j + e_t of every edge, (E, H, D)."""
        codes = self.edge_type.index_select(0, types_of(graph, self.edge_types))
        return dgl.ops.u_add_e(graph, key, codes)

    @property
    def maps(self) -> list[LinearMap]:
        """The linear maps of its features: query, key and value of every head, and the skip."""
        scores = [LinearMap(linear, heads=self.num_heads) for linear in (self.query, self.key)]
        return [*scores, self.value_map, *([] if self.skip is None else [LinearMap(self.skip, last=True)])]

    @property
    def value_map(self) -> LinearMap:
        """The map from features to what attention adds up."""
        return LinearMap(self.value, heads=self.num_heads, last=True)

    def values(self, x: torch.Tensor) -> torch.Tensor:
        """W_v x of all heads side by side, (N, F) → (N, H·D), without the bias."""
        return affine(x, self.value.weight, None, self.kernel)

    @property
    def _projection(self) -> torch.Tensor:
        return torch.cat([self.query.weight, self.key.weight, self.value.weight])

    @property
    def _passed_bound(self) -> float:
        return 0.0 if self.skip is None else spectral_norm(self.skip.weight)
