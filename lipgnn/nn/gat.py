"""The graph attention layer, with a place for a score norm."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import torch
from torch import nn

from lipgnn.errors import UsageError
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
from lipgnn.norms import LipschitzNorm, SourceLipschitzNorm
from lipgnn.runtime import dgl

fn = dgl.function


class GATConv(nn.Module):
    """Graph attention (GAT) whose scores can be normalized before the softmax.

    For every head, with z_j = W x_j,

        t_ij = a_l·z_j + a_r·z_i,   α_ij = softmax_{j∈N(i)} LeakyReLU(norm(t_ij)),   y_i = Σ_j α_ij z_j + b

    A drop-in for `dgl.nn.GATConv`: same arguments, same `state_dict`, and the same output when `norm` is None.
    Self-loops are the caller's duty; `lipgnn.datasets` adds them.

    Reference: Veličković et al., "Graph Attention Networks", ICLR 2018, equations 1 to 5.

    Parameters
    ----------
    in_feats, out_feats, num_heads : input width F, width D of one head, number of heads H.
    feat_drop, attn_drop : dropout on the input and on the attention weights.
    negative_slope : of the LeakyReLU on the scores.
    residual : add the input, through a linear map where the widths differ.
    activation : applied to the output.
    allow_zero_in_degree : let nodes without in-edges pass; their output is the bias alone.
    bias : add a learned bias.
    norm : None, "lip" (LipschitzNorm), a variant of it for comparison ("lip-all-heads", "lip-source",
        "lip-released"), or a module called as `norm(graph, scores, z, attn)`.
    kappa : κ of LipschitzNorm; used with norms given by name only.
    kernel : "auto", "dgl", "fused" or "triton": what computes the attention (see `lipgnn.kernels`).
    """

    def __init__(
        self,
        in_feats: int,
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
        super().__init__()
        self.num_heads = num_heads
        self.out_feats = out_feats
        self.allow_zero_in_degree = allow_zero_in_degree
        self.fc = nn.Linear(in_feats, num_heads * out_feats, bias=False)
        self.attn_l = nn.Parameter(torch.empty(1, num_heads, out_feats))
        self.attn_r = nn.Parameter(torch.empty(1, num_heads, out_feats))
        self.feat_drop = nn.Dropout(feat_drop)
        self.attn_drop = nn.Dropout(attn_drop)
        self.leaky_relu = nn.LeakyReLU(negative_slope)
        self.activation = activation
        # As in DGL, a linear residual carries the bias, so that state dicts agree.
        linear_residual = residual and in_feats != num_heads * out_feats
        if linear_residual:
            self.res_fc = nn.Linear(in_feats, num_heads * out_feats, bias=bias)
        else:
            self.res_fc = nn.Identity() if residual else None
        own_bias = bias and not linear_residual
        self.bias = nn.Parameter(torch.empty(num_heads * out_feats)) if own_bias else None
        self.kernel = kernel
        self.norm = named_score_norm(
            norm,
            {
                "lip": lambda: LipschitzNorm(kappa=kappa),
                "lip-all-heads": lambda: LipschitzNorm(kappa=kappa, per_head=False),
                "lip-source": lambda: SourceLipschitzNorm(kappa=kappa),
                "lip-released": lambda: SourceLipschitzNorm(kappa=kappa, released=True),
            },
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights: Glorot normal with the gain of ReLU, as DGL does; biases zero."""
        gain = nn.init.calculate_gain("relu")
        for weight in (self.fc.weight, self.attn_l, self.attn_r):
            nn.init.xavier_normal_(weight, gain=gain)
        if isinstance(self.res_fc, nn.Linear):
            nn.init.xavier_normal_(self.res_fc.weight, gain=gain)
            if self.res_fc.bias is not None:
                nn.init.zeros_(self.res_fc.bias)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

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
            z = self.fc(feat).view(-1, self.num_heads, self.out_feats)  # (N, H, D)
            scores = self.leaky_relu(self.scores(graph, z))  # (E, H, 1)
            out, attention = aggregate(graph, scores, z, self.attn_drop)
            if self.bias is not None:
                out = out + self.bias.view(1, self.num_heads, self.out_feats)
        if self.res_fc is not None:
            out = out + self.res_fc(feat).view(-1, self.num_heads, self.out_feats)
        if self.activation is not None:
            out = self.activation(out)
        return (out, attention) if get_attention else out

    def _kernel(self, device: torch.device) -> ModuleType | None:
        known = self.norm is None or (type(self.norm) is LipschitzNorm and self.norm.per_head)
        return find_kernel(self.kernel, device, self.num_heads, fits=known and self.leaky_relu.negative_slope >= 0)

    def spread(self, graph: dgl.DGLGraph, feat: torch.Tensor) -> Spread:
        """How evenly every node's attention is spread, of a layer in evaluation; feat is (N, F)."""
        if self._kernel(feat.device) is not fused:
            return spread_of(graph, self(graph, feat, get_attention=True)[1].squeeze(-1))
        check_in_degrees(graph, allow_zero=self.allow_zero_in_degree)
        return Spread(*fused.additive_spread(graph, **self._fused_arguments(fused, feat)))

    def _fused(self, kernel: ModuleType, graph: dgl.DGLGraph, feat: torch.Tensor) -> torch.Tensor:
        return kernel.additive(
            graph,
            **self._fused_arguments(kernel, feat),
            dropout=self.attn_drop.p if self.attn_drop.training else 0.0,
            seed=draw_seed(self.attn_drop),
            bias=None if self.bias is None else self.bias.view(self.num_heads, self.out_feats),
        )

    def _fused_arguments(self, kernel: ModuleType, feat: torch.Tensor) -> dict[str, torch.Tensor | float | None]:
        heads_fastest = kernel.heads_fastest(self.num_heads, self.out_feats)
        return {
            "z": project(self.fc, feat, self.num_heads, heads_fastest=heads_fastest),
            "attn_l": self.attn_l,
            "attn_r": self.attn_r,
            "kappa": self.norm and self.norm.kappa,
            "negative_slope": self.leaky_relu.negative_slope,
        }

    def scores(self, graph: dgl.DGLGraph, z: torch.Tensor) -> torch.Tensor:
        """Normalized scores of all edges before the LeakyReLU, (E, H, 1), from z of shape (N, H, D)."""
        graph = graph.local_var()
        graph.srcdata["left"] = (z * self.attn_l).sum(dim=-1, keepdim=True)  # (N, H, 1)
        graph.dstdata["right"] = (z * self.attn_r).sum(dim=-1, keepdim=True)
        graph.apply_edges(fn.u_add_v("left", "right", "scores"))
        if self.norm is None:
            return graph.edata["scores"]
        return self.norm(graph, graph.edata["scores"], z, torch.cat([self.attn_l, self.attn_r], dim=-1))

    @property
    def maps(self) -> list[LinearMap]:
        """The linear maps of its features: W of every head, and that of a linear residual."""
        residual = [LinearMap(self.res_fc, last=True)] if isinstance(self.res_fc, nn.Linear) else []
        return [self.value_map, *residual]

    @property
    def value_map(self) -> LinearMap:
        """The map from features to what attention adds up."""
        return LinearMap(self.fc, heads=self.num_heads, bias_owner=self, last=True)

    def values(self, x: torch.Tensor) -> torch.Tensor:
        """W x of all heads side by side, (N, F) → (N, H·D)."""
        return self.fc(x)

    @torch.no_grad()
    def lipschitz_bound(self, graph: dgl.DGLGraph) -> float:
        """Certified Lipschitz constant (Frobenius norm, evaluation mode) of the layer on `graph`.

            L ‖W‖₂ + ‖W_res‖₂,   L = sqrt( max_j Σ_{i: j∈N(i)} L_i² )

        with W the maps of all heads, one below the other, and L_i from `LipschitzNorm.node_bound`; infinite without a
        norm that gives one, since plain attention is not Lipschitz. The activation is taken to be 1-Lipschitz, as ELU
        and ReLU are.

        Raises
        ------
        UsageError : the LeakyReLU is steeper than 1, for which the theorem does not hold.
        """
        if abs(self.leaky_relu.negative_slope) > 1:
            raise UsageError(
                f"No bound is known for negative_slope {self.leaky_relu.negative_slope}.",
                "Use a slope between -1 and 1.",
            )
        residual = {None: 0.0, nn.Identity: 1.0}.get(self.res_fc and type(self.res_fc))
        if residual is None:
            residual = torch.linalg.matrix_norm(self.res_fc.weight, 2).item()
        return layer_bound(certified_bound(graph, self.norm), self.fc.weight, residual)
