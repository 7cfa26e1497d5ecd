"""The base of layers whose scores are products of queries and keys: both ends' maps, the values, and a linear skip."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from torch import nn

from lipgnn.catalog import DOT_PRODUCT
from lipgnn.kernels import affine, fused
from lipgnn.nn.attention import AttentionConv
from lipgnn.nn.ends import Ends
from lipgnn.nn.linear_map import LinearMap
from lipgnn.nn.projection import Projection, project
from lipgnn.nn.slices import Projected
from lipgnn.nn.softmax import aggregate
from lipgnn.norms import score_norm
from lipgnn.norms.lengths import spectral_norm
from lipgnn.norms.scores.dot_product import products
from lipgnn.runtime import dgl
from lipgnn.spec.network import NetworkSpec


class DotProductConv(AttentionConv):
    """Attention by products of queries and keys, over values of every head's own, with a linear skip.

    What is said here holds for queries and keys of heads apart as for shared ones. A kind makes its maps `query` and
    `key` and says what its scores are, by the methods at the end.

    Parameters
    ----------
    in_feats, out_feats, num_heads : input width F, or the pair of that of sources and that of targets; width D of one
        head, number of heads H.
    feat_drop, attn_drop : dropout on the input and on the attention weights.
    skip : add the linear skip.
    bias : biases in all four maps.
    allow_zero_in_degree : let nodes without in-edges pass; their output is the skip alone.
    norm : None, "lip", another name of `lipgnn.catalog.SCORE_NORMS` for scores of this kind, or a module called as
        `norm(graph, query, key, value)` that returns scores (E, H, 1).
    kappa, query_norm : of DotProductLipschitzNorm; used with "lip" only.
    kernel : "auto", "dgl", "fused" or "triton": what computes the attention (see `lipgnn.kernels`).
    """

    attention = DOT_PRODUCT
    linear_skip = True
    query: nn.Linear
    key: nn.Linear

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
    ):
        own = {} if query_norm == "node" else {"query_norm": query_norm}
        super().__init__(
            out_feats,
            num_heads,
            feat_drop=feat_drop,
            attn_drop=attn_drop,
            allow_zero_in_degree=allow_zero_in_degree,
            norm=score_norm(norm, self.attention, kappa=kappa, **own),
            kernel=kernel,
        )
        width = num_heads * out_feats
        source_feats, target_feats = in_feats if isinstance(in_feats, tuple) else (in_feats, in_feats)
        self._make_score_maps(source_feats, target_feats, bias)
        self.value = nn.Linear(source_feats, width, bias=bias)
        self.skip = Projection(target_feats, width, bias=bias, kernel=kernel) if skip else None
        self.reset_parameters()

    @classmethod
    def from_spec(cls, spec: NetworkSpec, width: int, **more: Any) -> DotProductConv:
        """The layer of this network, with its linear skip if that has one."""
        return super().from_spec(spec, width, skip=spec.skip == "own", **more)

    def reset_parameters(self) -> None:
        """Draw new weights: Glorot uniform; biases zero."""
        for linear in filter(None, (self.query, self.key, self.value, self.skip)):
            nn.init.xavier_uniform_(linear.weight)
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)

    @property
    def _source_map(self) -> nn.Linear:
        return self.key

    @property
    def _target_map(self) -> nn.Linear:
        return self.query

    def _reference(
        self, graph: dgl.DGLGraph, projected: Projected, edge_weight: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        query, key, value = projected
        return aggregate(graph, self.scores(graph, query, key, value), value, self.attn_drop, edge_weight)

    def _fused(
        self,
        kernel: ModuleType,
        graph: dgl.DGLGraph,
        projected: Projected,
        heads: torch.Tensor | None = None,
        **more: Any,
    ) -> torch.Tensor:
        return kernel.dot_product(graph, *projected, kappa=self._kappa, **self._further(heads), **more)

    def _fused_spread(self, graph: dgl.DGLGraph, projected: Projected) -> tuple[torch.Tensor, torch.Tensor]:
        return fused.dot_product_spread(graph, *projected, kappa=self._kappa, **self._further())

    def _further(self, heads: torch.Tensor | None = None) -> dict[str, torch.Tensor]:
        """What the kernel is given beside query, key and value, of all heads or of these."""
        return {}

    def _project(self, own: nn.Linear, x: torch.Tensor, heads: int, *, heads_fastest: bool) -> torch.Tensor:
        return project(own, x, heads, heads_fastest=heads_fastest, kernel=self.kernel)

    def _with_passed(self, out: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return out if self.skip is None else out + self._heads(self.skip(target))

    def scores(self, graph: dgl.DGLGraph, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Scores of all edges, (E, H, 1), from query (M, H, D) of targets, key and value (N, H, D) of sources."""
        return self._products(graph, query, key) if self.norm is None else self.norm(graph, query, key, value)

    def _products(self, graph: dgl.DGLGraph, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        """The scores without a norm."""
        return products(graph, self._scaled(query), key)

    @property
    def maps(self) -> list[LinearMap]:
        """The linear maps of its features: query, key and value of every head, and the skip."""
        return [*self._score_maps, self.value_map, *([] if self.skip is None else [LinearMap(self.skip, last=True)])]

    @property
    def value_map(self) -> LinearMap:
        """The map from features to what attention adds up."""
        return LinearMap(self.value, heads=self.num_heads, last=True)

    def values(self, x: torch.Tensor) -> torch.Tensor:
        """W_v x of all heads side by side, (N, F) → (N, H·D), without the bias."""
        return affine(x, self.value.weight, None, self.kernel)

    @property
    def _passed_bound(self) -> float:
        return 0.0 if self.skip is None else spectral_norm(self.skip.weight)

    def _make_score_maps(self, source_feats: int, target_feats: int, bias: bool) -> None:
        """Make `query` of the targets and `key` of the sources, and what else scores need."""
        raise NotImplementedError

    def _projected(self, ends: Ends, *, heads_fastest: bool) -> list[torch.Tensor]:
        """Query of the targets, key and value of the sources, as `scores` takes them."""
        raise NotImplementedError

    def _scaled(self, query: torch.Tensor) -> torch.Tensor:
        """Queries whose products with keys are scores, without a norm."""
        raise NotImplementedError

    @property
    def _score_maps(self) -> list[LinearMap]:
        """The maps of queries and keys."""
        raise NotImplementedError
