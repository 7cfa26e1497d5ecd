"""The Graph Transformer layer, with a place for a score norm."""

from __future__ import annotations

import math
from types import ModuleType

import torch
from torch import nn

from lipgnn.kernels import fused
from lipgnn.nn.attention import (
    Spread,
    aggregate,
    certified_bound,
    check_in_degrees,
    draw_seed,
    find_kernel,
    layer_bound,
    named_score_norm,
    project,
    spread_of,
)
from lipgnn.nn.linear_map import LinearMap
from lipgnn.norms import DotProductLipschitzNorm
from lipgnn.runtime import dgl

fn = dgl.function


class TransformerConv(nn.Module):
    """Dot-product attention over the neighbours of a node, with a linear skip.

    For every head, with q = W_q x + b_q, k = W_k x + b_k, v = W_v x + b_v,

        α_ij = softmax_{j∈N(i)} ( q_i·k_j / √D ),   y_i = Σ_j α_ij v_j + W_skip x_i + b_skip

    With `norm="lip"` the scores are those of `DotProductLipschitzNorm` instead. Equal to PyTorch Geometric's
    layer of the same name when its `lin_query, lin_key, lin_value, lin_skip` are copied over.

    Reference: Shi et al., "Masked Label Prediction", IJCAI 2021, equations 3 and 4.

    Parameters
    ----------
    in_feats, out_feats, num_heads : input width F, width D of one head, number of heads H.
    feat_drop, attn_drop : dropout on the input and on the attention weights.
    skip : add the linear skip.
    bias : biases in all four maps.
    allow_zero_in_degree : let nodes without in-edges pass; their output is the skip alone.
    norm : None, "lip", or a module called as `norm(graph, query, key, value)` that returns scores (E, H, 1).
    kappa, query_norm : of DotProductLipschitzNorm; used with "lip" only.
    kernel : "auto", "dgl", "fused" or "triton": what computes the attention (see `lipgnn.kernels`).
    """

    def __init__(
        self,
        in_feats: int,
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
        super().__init__()
        self.num_heads = num_heads
        self.out_feats = out_feats
        self.allow_zero_in_degree = allow_zero_in_degree
        width = num_heads * out_feats
        self.query = nn.Linear(in_feats, width, bias=bias)
        self.key = nn.Linear(in_feats, width, bias=bias)
        self.value = nn.Linear(in_feats, width, bias=bias)
        self.skip = nn.Linear(in_feats, width, bias=bias) if skip else None
        self.feat_drop = nn.Dropout(feat_drop)
        self.attn_drop = nn.Dropout(attn_drop)
        self.kernel = kernel
        lip = {"lip": lambda: DotProductLipschitzNorm(kappa=kappa, query_norm=query_norm)}
        self.norm = named_score_norm(norm, lip)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights: Glorot uniform; biases zero."""
        for linear in filter(None, (self.query, self.key, self.value, self.skip)):
            nn.init.xavier_uniform_(linear.weight)
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)

    def forward(
        self, graph: dgl.DGLGraph, feat: torch.Tensor, get_attention: bool = False
    ) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        """Apply the layer.

        Parameters
        ----------
        feat : (N, F).
        get_attention : also return the attention weights, (E, H, 1).

        Returns
        -------
        (N, H, D), or the pair of it and the attention weights.
        """
        check_in_degrees(graph, allow_zero=self.allow_zero_in_degree)
        feat = self.feat_drop(feat)
        # Fused kernels never hold the attention weights, which only the reference can show.
        kernel = None if get_attention else self._kernel(feat.device)
        if kernel:
            out = self._fused(kernel, graph, feat)
        else:
            query, key, value = (self._heads(linear(feat)) for linear in (self.query, self.key, self.value))
            scores = self.scores(graph, query, key, value)
            out, attention = aggregate(graph, scores, value, self.attn_drop)
        if self.skip is not None:
            out = out + self._heads(self.skip(feat))
        return (out, attention) if get_attention else out

    def _kernel(self, device: torch.device) -> ModuleType | None:
        known = type(self.norm) is DotProductLipschitzNorm and self.norm.query_norm == "node"
        return find_kernel(self.kernel, device, self.num_heads, fits=self.norm is None or known)

    def spread(self, graph: dgl.DGLGraph, feat: torch.Tensor) -> Spread:
        """How evenly every node's attention is spread, of a layer in evaluation; feat is (N, F)."""
        if self._kernel(feat.device) is not fused:
            return spread_of(graph, self(graph, feat, get_attention=True)[1].squeeze(-1))
        check_in_degrees(graph, allow_zero=self.allow_zero_in_degree)
        kappa = self.norm and self.norm.kappa
        return Spread(*fused.dot_product_spread(graph, *self._projected(fused, feat), kappa=kappa))

    def _fused(self, kernel: ModuleType, graph: dgl.DGLGraph, feat: torch.Tensor) -> torch.Tensor:
        return kernel.dot_product(
            graph,
            *self._projected(kernel, feat),
            kappa=self.norm and self.norm.kappa,
            dropout=self.attn_drop.p if self.attn_drop.training else 0.0,
            seed=draw_seed(self.attn_drop),
        )

    def _projected(self, kernel: ModuleType, feat: torch.Tensor) -> list[torch.Tensor]:
        heads_fastest = kernel.heads_fastest(self.num_heads, self.out_feats)
        maps = (self.query, self.key, self.value)
        return [project(linear, feat, self.num_heads, heads_fastest=heads_fastest) for linear in maps]

    def scores(self, graph: dgl.DGLGraph, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Scores of all edges, (E, H, 1), from query, key and value of shape (N, H, D)."""
        if self.norm is not None:
            return self.norm(graph, query, key, value)
        graph = graph.local_var()
        graph.srcdata["key"] = key
        graph.dstdata["query"] = query / math.sqrt(self.out_feats)
        graph.apply_edges(fn.v_dot_u("query", "key", "scores"))
        return graph.edata["scores"]

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
        return nn.functional.linear(x, self.value.weight)

    @torch.no_grad()
    def lipschitz_bound(self, graph: dgl.DGLGraph) -> float:
        """Certified Lipschitz constant (Frobenius norm, evaluation mode) of the layer on `graph`.

            L ‖[W_q; W_k; W_v]‖₂ + ‖W_skip‖₂

        with L as in `certified_bound`; infinite without a norm that certifies one.
        """
        maps = torch.cat([self.query.weight, self.key.weight, self.value.weight])
        skip = 0.0 if self.skip is None else torch.linalg.matrix_norm(self.skip.weight, 2).item()
        return layer_bound(certified_bound(graph, self.norm), maps, skip)

    def _heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(-1, self.num_heads, self.out_feats)  # (N, H, D)
