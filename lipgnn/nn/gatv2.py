"""The second graph attention layer (GATv2), with a place for a score norm."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch import nn

from lipgnn.catalog import DYNAMIC
from lipgnn.errors import UsageError
from lipgnn.kernels import affine, fused
from lipgnn.nn.ends import Ends, Features
from lipgnn.nn.lanes import of_heads
from lipgnn.nn.linear_map import LinearMap
from lipgnn.nn.projection import project
from lipgnn.nn.residual_attention import ResidualAttentionConv
from lipgnn.nn.slices import Projected
from lipgnn.nn.softmax import aggregate
from lipgnn.norms import Bound, score_norm
from lipgnn.runtime import dgl


class GATv2Conv(ResidualAttentionConv):
    """Graph attention in which every node ranks its neighbours anew (GATv2), with scores that can be normalized.

    For every head, with maps of sources and of targets,

        e_ij = a·LeakyReLU(W_l x_j + b_l + W_r x_i + b_r),   α_ij = softmax_{j∈N(i)} norm(e_ij)
        y_i = Σ_j α_ij (W_l x_j + b_l)

    A drop-in for `dgl.nn.GATv2Conv`: same arguments in the same order, same `state_dict`, and the same output when
    `norm` is None, on all kinds of graphs that `GATConv` takes; with edge weights, which DGL's does not have. Equal to
    PyTorch Geometric's layer of that name when its `lin_l, lin_r, att` are copied to `fc_src, fc_dst, attn`, but for
    the bias that it adds to the output. What differs from DGL's is what differs in `GATConv`; and shared weights are
    one parameter, which `state_dict` has under both names, as copies.

    With a norm, k_j = W_l x_j and q_i = W_r x_i + b_l + b_r are its features: the same scores, and a bias, which is
    common to all neighbours, makes no attention flatter.

    Reference: Brody, Alon & Yahav, "How Attentive are Graph Attention Networks?", ICLR 2022, equation 7.

    Parameters
    ----------
    in_feats, out_feats, num_heads : input width F, or the pair of that of sources and that of targets; width D of one
        head, number of heads H.
    feat_drop, attn_drop : dropout on the input and on the attention weights.
    negative_slope : of the LeakyReLU in the scores.
    residual : add the input, through a linear map where the widths differ.
    activation : applied to the output.
    allow_zero_in_degree : let nodes without in-edges pass; their output is zero.
    bias : biases in both maps, and in that of a linear residual.
    share_weights : one map, W_r = W_l and b_r = b_l; of one input width only.
    norm : None, "lip" (LipschitzNorm, in an extension of ours), or a module called as `norm(graph, scores, (k, q), a)`.
    kappa : κ of LipschitzNorm; used with norms given by name only.
    kernel : "auto", "dgl" or "fused": what computes the attention (see `lipgnn.kernels`).
    """

    attention = DYNAMIC
    heads_apart = True
    # As the base says, of which `forward` has another order of arguments here.
    local, keeps_statistics = ResidualAttentionConv.local, ResidualAttentionConv.keeps_statistics
    counts_out_edges = False

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
        share_weights: bool = False,
        *,
        norm: str | nn.Module | None = None,
        kappa: float = 4.0,
        kernel: str = "auto",
    ):
        if share_weights and isinstance(in_feats, tuple):
            raise UsageError(
                f"Weights are shared by sources and targets of one width, and in_feats is {in_feats}.",
                "Give one width, or share_weights=False.",
            )
        super().__init__(
            out_feats,
            num_heads,
            feat_drop=feat_drop,
            attn_drop=attn_drop,
            allow_zero_in_degree=allow_zero_in_degree,
            norm=score_norm(norm, DYNAMIC, kappa=kappa, **({"shared": True} if share_weights else {})),
            kernel=kernel,
        )
        width, self.one_width = num_heads * out_feats, not isinstance(in_feats, tuple)
        source_feats, target_feats = (in_feats, in_feats) if self.one_width else in_feats
        self.fc_src = nn.Linear(source_feats, width, bias=bias)
        self.fc_dst = None if share_weights else nn.Linear(target_feats, width, bias=bias)
        self.attn = nn.Parameter(torch.empty(1, num_heads, out_feats))
        self._make_end(target_feats, negative_slope=negative_slope, residual=residual, activation=activation, bias=bias)
        self.reset_parameters()

    @property
    def _drawn(self) -> list[nn.Parameter | nn.Module | None]:
        return [self.fc_src, self.fc_dst, self.attn, self.res_fc]

    def forward(
        self,
        graph: dgl.DGLGraph,
        feat: Features,
        get_attention: bool = False,
        edge_weight: torch.Tensor | None = None,
    ) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        """Apply the layer, as `AttentionConv.forward`; the arguments are in the order of DGL's layer."""
        return super().forward(graph, feat, edge_weight, get_attention)

    @property
    def _source_map(self) -> nn.Linear:
        return self.fc_src

    @property
    def _target_map(self) -> nn.Linear:
        return self.fc_dst or self.fc_src

    def _reference(
        self, graph: dgl.DGLGraph, projected: Projected, edge_weight: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        key, query = projected
        value = key if self._value_bias is None else key + self._value_bias
        return aggregate(graph, self.scores(graph, key, query), value, self.attn_drop, edge_weight)

    def _fused(
        self,
        kernel: ModuleType,
        graph: dgl.DGLGraph,
        projected: Projected,
        heads: torch.Tensor | None = None,
        **more: Any,
    ) -> torch.Tensor:
        bias = None if self._value_bias is None else of_heads(self._value_bias, heads)
        return kernel.dynamic(graph, **self._arguments(projected, heads), bias=bias, **more)

    def _fused_spread(self, graph: dgl.DGLGraph, projected: Projected) -> tuple[torch.Tensor, torch.Tensor]:
        return fused.dynamic_spread(graph, **self._arguments(projected))

    @property
    def _value_bias(self) -> torch.Tensor | None:
        """b_l of every head, (H, D)."""
        return None if self.fc_src.bias is None else self._heads(self.fc_src.bias)

    def _projected(self, ends: Ends, *, heads_fastest: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """k = W_l x of the sources, (N, H, D), and q = W_r x + b_l + b_r of the targets, (M, H, D)."""
        source, target, heads = self.fc_src, self._target_map, self.num_heads
        key = project(source, ends.source, heads, heads_fastest=heads_fastest, kernel=self.kernel, bias=None)
        if target is source and ends.shared:
            query = key[..., : ends.num_targets, :, :]
            return key, query if source.bias is None else query + 2 * self._value_bias
        bias = None if source.bias is None else source.bias + target.bias
        return key, project(target, ends.target, heads, heads_fastest=heads_fastest, kernel=self.kernel, bias=bias)

    def _arguments(
        self, projected: Projected, heads: torch.Tensor | None = None
    ) -> dict[str, torch.Tensor | float | None]:
        key, query = projected
        attn, slope = of_heads(self.attn, heads), self.leaky_relu.negative_slope
        return {"key": key, "query": query, "attn": attn, "kappa": self._kappa, "negative_slope": slope}

    def scores(self, graph: dgl.DGLGraph, key: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
        """Normalized scores of all edges, (E, H, 1), from k (N, H, D) of sources and q (M, H, D) of targets."""
        bent = self.leaky_relu(dgl.ops.u_add_v(graph, key, query))  # (E, H, D)
        scores = (bent * self.attn).sum(dim=-1, keepdim=True)
        return scores if self.norm is None else self.norm(graph, scores, (key, query), self.attn)

    @property
    def score_weights(self) -> list[nn.Parameter]:
        """The attention vector."""
        return [self.attn]

    @property
    def maps(self) -> list[LinearMap]:
        """The linear maps of its features: of the sources, of the targets, and that of a linear residual."""
        target = [] if self.fc_dst is None else [LinearMap(self.fc_dst, heads=self.num_heads)]
        return [self.value_map, *target, *self._residual_maps]

    @property
    def value_map(self) -> LinearMap:
        """The map from features to what attention adds up."""
        return LinearMap(self.fc_src, heads=self.num_heads, last=True)

    def values(self, x: torch.Tensor) -> torch.Tensor:
        """W_l x of all heads side by side, (N, F) → (N, H·D), without the bias."""
        return affine(x, self.fc_src.weight, None, self.kernel)

    def certified(self, graph: dgl.DGLGraph) -> Bound:
        """The Lipschitz constant of the layer on `graph`.

            L ‖[W_l; W_r]‖₂ + ‖W_res‖₂,   L = sqrt( max_j Σ_{i: j∈N(i)} L_i² )

        with the maps of all heads, one below the other, and L_i from `DynamicLipschitzNorm.node_bound`, times the
        largest slope of the activation; with shared weights ‖W_l‖₂ alone. None without a norm that gives one, and none
        for a LeakyReLU steeper than 1.
        """
        if not self.one_width:
            return Bound.unknown("no bound is known where sources and targets have their own features: use one width")
        return super().certified(graph)

    @property
    def _projection(self) -> torch.Tensor:
        return torch.cat([self.fc_src.weight, *([] if self.fc_dst is None else [self.fc_dst.weight])])

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if self.fc_dst is None:
            # A copy, since formats such as safetensors refuse one tensor under two names.
            for name, tensor in self.fc_src.state_dict().items():
                destination[f"{prefix}fc_dst.{name}"] = tensor.clone()

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, meta: Any, strict: bool, *found: Any) -> None:
        if self.fc_dst is None:
            *_, errors = found
            for key in [key for key in state if key.startswith(f"{prefix}fc_dst.")]:
                second, first = state.pop(key), state.get(key.replace(f"{prefix}fc_dst.", f"{prefix}fc_src.", 1))
                if first is None or not torch.equal(first, second):
                    errors.append(f"{key} is not that of fc_src, and this layer shares its weights.")
        super()._load_from_state_dict(state, prefix, meta, strict, *found)
