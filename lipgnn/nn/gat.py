"""The graph attention layer, with a place for a score norm."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch import nn

from lipgnn.catalog import ADDITIVE
from lipgnn.kernels import affine, fused
from lipgnn.nn.ends import Ends
from lipgnn.nn.lanes import of_heads
from lipgnn.nn.linear_map import LinearMap
from lipgnn.nn.projection import project
from lipgnn.nn.residual_attention import ResidualAttentionConv
from lipgnn.nn.slices import Projected
from lipgnn.nn.softmax import aggregate
from lipgnn.norms import Bound, score_norm
from lipgnn.runtime import dgl

fn = dgl.function


class GATConv(ResidualAttentionConv):
    """Graph attention (GAT) whose scores can be normalized before the softmax.

    For every head, with z_j = W x_j,

        t_ij = a_l·z_j + a_r·z_i,   α_ij = softmax_{j∈N(i)} LeakyReLU(norm(t_ij)),   y_i = Σ_j α_ij z_j + b

    A drop-in for `dgl.nn.GATConv`: same arguments in the same order, same `state_dict`, and the same output when `norm`
    is None, on graphs of one kind of nodes, from one kind to another, on message-flow graphs, and inside
    `dgl.nn.HeteroGraphConv`; with edge weights; and for features (N, …, F). What differs: errors are those of
    `lipgnn.errors`; float16 and bfloat16 are refused on the CPU, and under torch.autocast the layer computes in the
    type of its weights. Self-loops are the caller's duty; `lipgnn.datasets` adds them.

    Reference: Veličković et al., "Graph Attention Networks", ICLR 2018, equations 1 to 5.

    Parameters
    ----------
    in_feats, out_feats, num_heads : input width F, or the pair of that of sources and that of targets, which then have
        maps of their own; width D of one head, number of heads H.
    feat_drop, attn_drop : dropout on the input and on the attention weights.
    negative_slope : of the LeakyReLU on the scores.
    residual : add the input, through a linear map where the widths differ.
    activation : applied to the output.
    allow_zero_in_degree : let nodes without in-edges pass; their output is the bias alone.
    bias : add a learned bias.
    norm : None, "lip" (LipschitzNorm), another name of `lipgnn.catalog.SCORE_NORMS` for additive scores, such as its
        variants "lip-all-heads", "lip-source" and "lip-released", or a module called as `norm(graph, scores, z, attn)`,
        z being a pair of those of sources and targets where these are not the same nodes.
    kappa : κ of LipschitzNorm; used with norms given by name only.
    kernel : "auto", "dgl", "fused" or "triton": what computes the attention (see `lipgnn.kernels`).
    """

    attention = ADDITIVE
    heads_apart = True

    def __init__(
        self,
        in_feats: int | tuple[int, int],
        out_feats: int,
        num_heads: int,
        feat_drop: float = 0.0,
        attn_drop: float = 0.0,
        negative_slope: float = 0.2,
        residual: bool = False,
        activation: Callable[[torch.Tensor], torch.Tensor] | None = None,
        allow_zero_in_degree: bool = False,
        bias: bool = True,
        *,
        norm: str | nn.Module | None = None,
        kappa: float = 4.0,
        kernel: str = "auto",
    ):
        super().__init__(
            out_feats,
            num_heads,
            feat_drop=feat_drop,
            attn_drop=attn_drop,
            allow_zero_in_degree=allow_zero_in_degree,
            norm=score_norm(norm, ADDITIVE, kappa=kappa),
            kernel=kernel,
        )
        # With the names that DGL gives them.
        widths = {"fc_src": in_feats[0], "fc_dst": in_feats[1]} if isinstance(in_feats, tuple) else {"fc": in_feats}
        for name, width in widths.items():
            self.add_module(name, nn.Linear(width, num_heads * out_feats, bias=False))
        self.attn_l = nn.Parameter(torch.empty(1, num_heads, out_feats))
        self.attn_r = nn.Parameter(torch.empty(1, num_heads, out_feats))
        self._make_end(
            self._target_map.in_features,
            negative_slope=negative_slope,
            residual=residual,
            activation=activation,
            bias=bias,
        )
        # As in DGL, a linear residual carries the bias, so that state dicts agree.
        own_bias = bias and not isinstance(self.res_fc, nn.Linear)
        self.bias = nn.Parameter(torch.empty(num_heads * out_feats)) if own_bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights: Glorot normal with the gain of ReLU, as DGL does; biases zero."""
        super().reset_parameters()
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    @property
    def _drawn(self) -> list[nn.Parameter | nn.Module | None]:
        maps = [self._source_map] if self._target_map is self._source_map else [self._source_map, self._target_map]
        return [*maps, self.attn_l, self.attn_r, self.res_fc]

    def _reference(
        self, graph: dgl.DGLGraph, projected: Projected, edge_weight: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        z, target = projected  # (N, H, D)
        scores = self.leaky_relu(self.scores(graph, z, target))  # (E, H, 1)
        out, attention = aggregate(graph, scores, z, self.attn_drop, edge_weight)
        if self.bias is not None:
            out = out + self.bias.view(1, self.num_heads, self.out_feats)
        return out, attention

    def _fused(
        self,
        kernel: ModuleType,
        graph: dgl.DGLGraph,
        projected: Projected,
        heads: torch.Tensor | None = None,
        **more: Any,
    ) -> torch.Tensor:
        bias = None if self.bias is None else of_heads(self.bias.view(self.num_heads, self.out_feats), heads)
        return kernel.additive(graph, **self._arguments(projected, heads), bias=bias, **more)

    def _fused_spread(self, graph: dgl.DGLGraph, projected: Projected) -> tuple[torch.Tensor, torch.Tensor]:
        return fused.additive_spread(graph, **self._arguments(projected))

    @property
    def _source_map(self) -> nn.Linear:
        return self._modules.get("fc") or self._modules["fc_src"]

    @property
    def _target_map(self) -> nn.Linear:
        return self._modules.get("fc") or self._modules["fc_dst"]

    def _projected(self, ends: Ends, *, heads_fastest: bool) -> tuple[torch.Tensor, torch.Tensor | None]:
        """z of the sources, (N, H, D), and of the targets, (M, H, D), None where these are the same."""
        z = project(self._source_map, ends.source, self.num_heads, heads_fastest=heads_fastest, kernel=self.kernel)
        if ends.target is ends.source and self._target_map is self._source_map:
            return z, None
        if ends.shared and self._target_map is self._source_map:
            return z, z[..., : ends.num_targets, :, :]
        return z, project(
            self._target_map, ends.target, self.num_heads, heads_fastest=heads_fastest, kernel=self.kernel
        )

    def _arguments(
        self, projected: Projected, heads: torch.Tensor | None = None
    ) -> dict[str, torch.Tensor | float | None]:
        z, target = projected
        return {
            "z": z,
            "target": target,
            "attn_l": of_heads(self.attn_l, heads),
            "attn_r": of_heads(self.attn_r, heads),
            "kappa": self._kappa,
            "negative_slope": self.leaky_relu.negative_slope,
        }

    def scores(self, graph: dgl.DGLGraph, z: torch.Tensor, target: torch.Tensor | None = None) -> torch.Tensor:
        """Normalized scores of all edges before the LeakyReLU, (E, H, 1), from z of shape (N, H, D).

        `target` is that of the targets, (M, H, D), where these are not the same nodes.
        """
        own = z if target is None else target
        graph = graph.local_var()
        graph.srcdata["left"] = (z * self.attn_l).sum(dim=-1, keepdim=True)  # (N, H, 1)
        graph.dstdata["right"] = (own * self.attn_r).sum(dim=-1, keepdim=True)
        graph.apply_edges(fn.u_add_v("left", "right", "scores"))
        if self.norm is None:
            return graph.edata["scores"]
        attn = torch.cat([self.attn_l, self.attn_r], dim=-1)
        return self.norm(graph, graph.edata["scores"], z if target is None else (z, target), attn)

    @property
    def score_weights(self) -> list[nn.Parameter]:
        """The attention vectors a_l and a_r."""
        return [self.attn_l, self.attn_r]

    @property
    def maps(self) -> list[LinearMap]:
        """The linear maps of its features: W of every head, and that of a linear residual."""
        target = [] if hasattr(self, "fc") else [LinearMap(self.fc_dst, heads=self.num_heads)]
        return [self.value_map, *target, *self._residual_maps]

    @property
    def value_map(self) -> LinearMap:
        """The map from features to what attention adds up."""
        return LinearMap(self._source_map, heads=self.num_heads, bias_owner=self, last=True)

    def values(self, x: torch.Tensor) -> torch.Tensor:
        """W x of all heads side by side, (N, F) → (N, H·D)."""
        return affine(x, self._source_map.weight, None, self.kernel)

    def certified(self, graph: dgl.DGLGraph) -> Bound:
        """The Lipschitz constant of the layer on `graph`.

            L ‖W‖₂ + ‖W_res‖₂,   L = sqrt( max_j Σ_{i: j∈N(i)} L_i² )

        with W the maps of all heads, one below the other, and L_i from `LipschitzNorm.node_bound`, times the largest
        slope of the activation. There is none without a norm that gives one, since plain attention is not Lipschitz,
        and none for a LeakyReLU steeper than 1, for which the theorem does not hold.
        """
        if not hasattr(self, "fc"):
            return Bound.unknown("no bound is known where sources and targets have maps of their own: use one width")
        return super().certified(graph)

    @property
    def _projection(self) -> torch.Tensor:
        return self._source_map.weight
