"""The base of the attention layers: checks, choice of a kernel, softmax-weighted sum, spread and certified bound."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from torch import nn

from lipgnn.catalog import parse_norm
from lipgnn.errors import UsageError
from lipgnn.kernels import fused, implementation
from lipgnn.kernels.checks import autocasting
from lipgnn.kernels.native import MOST_HEADS
from lipgnn.nn.dropout import draw_seed
from lipgnn.nn.ends import Ends, Features, cast, check_edge_weight, check_in_degrees
from lipgnn.nn.lanes import Lanes
from lipgnn.nn.slices import Projected, stacked, unbound
from lipgnn.nn.spread import Spread, spread_of
from lipgnn.norms import Bound
from lipgnn.norms.contract import certified, is_fused, is_local, keeps_statistics
from lipgnn.norms.lengths import spectral_norm
from lipgnn.runtime import dgl
from lipgnn.spec.network import NetworkSpec


class AttentionConv(nn.Module):
    """Attention over the in-neighbours of every node, for every head: y_i = Σ_j α_ij v_j, and what passes it by.

    What is said here holds for every kind of scores that depend on the features of an edge's two ends. A kind says how
    it computes them, by the methods at the end, and which its `attention` is.

    Parameters
    ----------
    out_feats, num_heads : width D of one head, number of heads H.
    feat_drop, attn_drop : dropout on the input and on the attention weights.
    allow_zero_in_degree : let nodes without in-edges pass.
    norm : a score norm, or None.
    kernel : "auto", "dgl", "fused" or "triton": what computes the attention (see `lipgnn.kernels`).
    """

    attention: str
    counts_out_edges = False
    # Whether a head's attention is made of its own projected features and its own parameters, and of no other's.
    heads_apart = False

    def __init__(
        self,
        out_feats: int,
        num_heads: int,
        *,
        feat_drop: float,
        attn_drop: float,
        allow_zero_in_degree: bool,
        norm: nn.Module | None,
        kernel: str,
    ):
        super().__init__()
        self.num_heads = num_heads
        self.out_feats = out_feats
        self.allow_zero_in_degree = allow_zero_in_degree
        self.feat_drop = nn.Dropout(feat_drop)
        self.attn_drop = nn.Dropout(attn_drop)
        self.norm = norm
        self.kernel = kernel

    @classmethod
    def from_spec(cls, spec: NetworkSpec, width: int, in_feats: int | None = None, **more: Any) -> AttentionConv:
        """The layer of this network, to `width` channels, all heads together, from as many or from `in_feats`."""
        score, _ = parse_norm(spec.norm)
        options = {"attn_drop": spec.attn_dropout, "norm": score, "kappa": spec.kappa, "kernel": spec.kernel}
        own = width if in_feats is None else in_feats
        return cls(own, width // spec.heads, spec.heads, bias=spec.bias == "layers", **options, **more)

    @property
    def local(self) -> bool:
        """Whether a node depends on its in-neighbours alone: if its scores do."""
        return is_local(self.norm)

    @property
    def keeps_statistics(self) -> bool:
        """Whether it is another function in training than in evaluation: if its score norm is."""
        return keeps_statistics(self.norm)

    def set_allow_zero_in_degree(self, value: bool) -> None:
        """Let nodes without in-edges pass, or not."""
        self.allow_zero_in_degree = value

    def forward(
        self,
        graph: dgl.DGLGraph,
        feat: Features,
        edge_weight: torch.Tensor | None = None,
        get_attention: bool = False,
    ) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        """Apply the layer.

        Parameters
        ----------
        graph : of one kind of edges: between nodes of one kind, from one kind to another, or a message-flow graph. A
            graph of N sources has M targets, which are the same where there is one kind of nodes.
        feat : (N, …, F), every … by itself, or a pair of the features of the sources and of the targets. Without a
            pair the targets of a message-flow graph are the first of its sources, as in DGL.
        edge_weight : (E,), what the attention weights are multiplied by, after softmax and dropout.
        get_attention : also return the attention weights, (E, …, H, 1).

        Returns
        -------
        (M, …, H, D), or the pair of it and the attention weights.

        Raises
        ------
        DataError : features or weights that do not fit the graph or the layer, or nodes without in-edges.
        UsageError : a type other than float32 and float64, or a graph with several kinds of edges.
        """
        like = self._source_map.weight
        if autocasting(kind := like.device.type):
            # Attention is computed in the type of the weights; torch keeps its own softmax in float32 as well.
            with torch.autocast(kind, enabled=False):
                return self(graph, cast(feat, like.dtype), edge_weight=edge_weight, get_attention=get_attention)
        ends = self._ends(graph, feat).dropped(self.feat_drop)
        if edge_weight is not None:
            check_edge_weight(graph, edge_weight, ends.source)
        # Fused kernels never hold the attention weights, which only the reference can show.
        kernel = None if get_attention else self.kernel_on(ends.source.device)
        out, attention = self._attended(graph, kernel, ends, edge_weight)
        out = self._with_passed(out, ends.target)
        return (out, attention) if get_attention else out

    def _ends(self, graph: dgl.DGLGraph, feat: Features) -> Ends:
        source, target = self._source_map, self._target_map
        ends = Ends.of(graph, feat, like=source.weight, widths=(source.in_features, target.in_features))
        check_in_degrees(graph, allow_zero=self.allow_zero_in_degree)
        return ends

    def _attended(
        self, graph: dgl.DGLGraph, kernel: ModuleType | None, ends: Ends, edge_weight: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The sums and, by the reference, the weights.

        (N, …, F) is projected at once, and attended slice by slice, or some heads of all slices at a time.
        """
        if ends.source.dim() == 2:
            return self._attend(graph, kernel, self._projected_for(kernel, ends), edge_weight)
        slices, shape = ends.slices_first(), ends.source.shape[1:-1]
        projected = self._projected_for(kernel, slices)
        if kernel is fused and self.heads_apart and (width := fused.lanes(self.num_heads, self.out_feats)):
            lanes = Lanes(len(slices.source), self.num_heads, width)
            sums = []
            for k, group in enumerate(lanes.groups_of(projected)):
                heads = lanes.heads_in(k, slices.source.device)
                sums.append(self._attend(graph, kernel, group, edge_weight, heads=heads)[0])
            return lanes.joined(sums).unflatten(1, shape), None
        parts = [self._attend(graph, kernel, part, edge_weight) for part in unbound(projected)]
        out, attention = (stacked(each, shape) for each in zip(*parts, strict=True))
        return out, attention

    def _attend(
        self,
        graph: dgl.DGLGraph,
        kernel: ModuleType | None,
        projected: Projected,
        edge_weight: torch.Tensor | None,
        **heads: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The sums and, by the reference, the weights, of the projected features of one slice, or of some heads."""
        if not kernel:
            return self._reference(graph, projected, edge_weight)
        dropout, seed = self.attn_drop.p if self.attn_drop.training else 0.0, draw_seed(self.attn_drop)
        more = {"dropout": dropout, "seed": seed, "edge_weight": edge_weight, **heads}
        return self._fused(kernel, graph, projected, **more), None

    def _projected_for(self, kernel: ModuleType | None, ends: Ends) -> Projected:
        """The projected features, in memory as this kernel likes them."""
        heads_fastest = kernel is not None and kernel.heads_fastest(self.num_heads, self.out_feats)
        return self._projected(ends, heads_fastest=heads_fastest)

    def spread(self, graph: dgl.DGLGraph, feat: Features) -> Spread:
        """How evenly every node's attention is spread, of a layer in evaluation; feat is (N, F), or a pair of such."""
        if self.kernel_on(self._source_map.weight.device) is not fused:
            return spread_of(graph, self(graph, feat, get_attention=True)[1].squeeze(-1))
        return Spread(*self._fused_spread(graph, self._projected_for(fused, self._ends(graph, feat))))

    def kernel_on(self, device: torch.device) -> ModuleType | None:
        """The module of `lipgnn.kernels` to compute with, or None for the reference.

        Raises
        ------
        UsageError : a fused kernel was asked for by name, and the layer is not one that it knows.
        """
        if not ((fits := self._fits_kernels) and self.num_heads <= MOST_HEADS) and self.kernel in ("auto", "dgl"):
            return None
        if not fits:
            raise UsageError(
                f"Kernel {self.kernel!r} knows layers without a score norm or with LipschitzNorm, and this is neither.",
                "Use kernel='auto' or 'dgl'.",
            )
        return implementation(self.kernel, device)

    @torch.no_grad()
    def certified(self, graph: dgl.DGLGraph) -> Bound:
        """The Lipschitz constant of the layer on `graph`: L ‖W‖₂ + that of what passes the attention by.

        L is that of one head's attention, by its score norm, in the projected features; W has the maps of all heads and
        of all that enters the scores, one below the other: ‖Δy‖² = Σ_h ‖Δy_h‖² ≤ L² Σ_h ‖W_h Δx‖² = L² ‖W Δx‖², which
        is sharper than the sum over the norms of the heads.
        """
        # Without a bound on the attention there is none on the layer, even where the weights happen to be zero.
        if (attention := self._attention_bound(graph)).reason:
            return attention
        return Bound(attention.value * spectral_norm(self._projection) + self._passed_bound)

    def _attention_bound(self, graph: dgl.DGLGraph) -> Bound:
        """The Lipschitz constant of one head's attention on `graph`, in the projected features."""
        if graph.is_block or len(graph.ntypes) > 1:
            return Bound.unknown("no bound is known where sources and targets are not the same nodes: use one graph")
        if self.norm is None:
            return Bound.unknown("plain attention is not Lipschitz: use --norm lip")
        return certified(self.norm, graph)

    def lipschitz_bound(self, graph: dgl.DGLGraph) -> float:
        """The constant of `certified` as a number, infinite where none is known."""
        return self.certified(graph).value

    @property
    def _kappa(self) -> float | None:
        return None if self.norm is None else self.norm.kappa

    @property
    def _fits_kernels(self) -> bool:
        return is_fused(self.norm, self.attention)

    def _heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (self.num_heads, self.out_feats))  # (N, …, H, D)

    @property
    def _source_map(self) -> nn.Linear:
        """A map of the sources' features."""
        raise NotImplementedError

    @property
    def _target_map(self) -> nn.Linear:
        """A map of the targets' features."""
        raise NotImplementedError

    def _projected(self, ends: Ends, *, heads_fastest: bool) -> Projected:
        """What scores and sums are made of, (…, N, H, D), of features (…, N, F)."""
        raise NotImplementedError

    def _reference(
        self, graph: dgl.DGLGraph, projected: Projected, edge_weight: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Σ_j α_ij v_j (M, H, D) and the weights after dropout (E, H, 1), by DGL's message passing."""
        raise NotImplementedError

    def _fused(self, kernel: ModuleType, graph: dgl.DGLGraph, projected: Projected, **more: Any) -> torch.Tensor:
        """The same sums by a kernel, which is given dropout, seed and edge_weight.

        With `heads` as well, by layers whose heads are apart: it says which head each of those projected is.
        """
        raise NotImplementedError

    def _fused_spread(self, graph: dgl.DGLGraph, projected: Projected) -> tuple[torch.Tensor, torch.Tensor]:
        """Entropy and largest weight by the fused kernel, (M, H) each."""
        raise NotImplementedError

    def _with_passed(self, out: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """The output with what passes the attention by, of the targets' features."""
        raise NotImplementedError

    @property
    def _projection(self) -> torch.Tensor:
        """The maps of features into attention, one below the other."""
        raise NotImplementedError

    @property
    def _passed_bound(self) -> float:
        """The Lipschitz constant of what passes the attention by."""
        raise NotImplementedError
