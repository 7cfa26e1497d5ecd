"""Graph attention in which a node itself stays apart from its neighbours."""

from __future__ import annotations

from types import ModuleType

import torch
from torch import nn

from lipgnn.nn.ends import Features
from lipgnn.nn.gat import GATConv
from lipgnn.nn.linear_map import LinearMap
from lipgnn.nn.loops import without_loops
from lipgnn.nn.mlp import Mlp
from lipgnn.nn.slices import Projected
from lipgnn.nn.spread import Spread
from lipgnn.norms import Bound
from lipgnn.norms.bound import product
from lipgnn.norms.lengths import spectral_norm
from lipgnn.runtime import dgl


class GATSepConv(GATConv):
    """Graph attention with separated ego and neighbours (GAT-sep): attention has no part in what a node is itself.

    With z_j = W x_j and, for every head, the attention of GAT over the neighbours alone,

        m_i = Σ_{j∈N(i), j≠i} α_ij z_j,   y_i = W₂ GELU(W₁ [z_i ‖ m_i] + b₁) + b₂

    Self-loops are left out, wherever they come from, and have the weight zero; a node without neighbours has m_i = 0.
    A score norm acts on the scores of the neighbours, as in GATConv. Three things are not the authors': scores are of
    every head's own part of z, as in GAT, and without a bias; W has none, for which b₁ is there; dropout and the
    residual sum, which they have in the layer, are the network's (`--norm-place pre --residual identity --activation
    none` is their block).

    Reference: Platonov et al., "A Critical Look at the Evaluation of GNNs under Heterophily", ICLR 2023, as in
    github.com/yandex-research/heterophilous-graphs; after Zhu et al., "Beyond Homophily", NeurIPS 2020.

    Parameters
    ----------
    in_feats, out_feats, num_heads : input width F, width D of one head, number of heads H.
    bias : b₁ and b₂.
    attn_drop, norm, kappa, kernel : of GATConv.
    """

    attends_to_loops = False
    # What the neighbours add is mapped once more: there is no one map to it.
    value_map = None

    def __init__(
        self,
        in_feats: int,
        out_feats: int,
        num_heads: int,
        *,
        attn_drop: float = 0.0,
        bias: bool = True,
        norm: str | nn.Module | None = None,
        kappa: float = 4.0,
        kernel: str = "auto",
    ):
        super().__init__(
            *(in_feats, out_feats, num_heads),
            attn_drop=attn_drop,
            allow_zero_in_degree=True,
            bias=False,
            norm=norm,
            kappa=kappa,
            kernel=kernel,
        )
        width = num_heads * out_feats
        self.feed = Mlp(2 * width, width, nn.GELU(), out_width=width, bias=bias)

    def reset_parameters(self) -> None:
        """Draw new weights: those of attention as GATConv does, the others Glorot uniform; biases zero."""
        super().reset_parameters()
        # When the layer is made these have been drawn already.
        if "feed" in self._modules:
            self.feed.reset_parameters()

    def _attend(
        self,
        graph: dgl.DGLGraph,
        kernel: ModuleType | None,
        projected: Projected,
        edge_weight: torch.Tensor | None,
        **heads: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        neighbours, kept = without_loops(graph)
        if edge_weight is not None and kept is not None:
            edge_weight = edge_weight[kept]
        out, attention = super()._attend(neighbours, kernel, projected, edge_weight, **heads)
        if attention is None or kept is None:
            return out, attention
        everywhere = attention.new_zeros(graph.num_edges(), *attention.shape[1:])
        return out, everywhere.index_copy(0, kept, attention)

    def _with_passed(self, out: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        both = torch.cat([self.fc(target), out.flatten(-2)], dim=-1)  # (M, …, 2HD)
        return self._heads(self.feed(None, both))

    def spread(self, graph: dgl.DGLGraph, feat: Features) -> Spread:
        """How evenly every node's attention to its neighbours is spread, of a layer in evaluation."""
        return super().spread(without_loops(graph).graph, feat)

    @property
    def maps(self) -> list[LinearMap]:
        """W of every head, W₁ and W₂."""
        return [LinearMap(self.fc, heads=self.num_heads), *self.feed.maps]

    def certified(self, graph: dgl.DGLGraph) -> Bound:
        """The Lipschitz constant of the layer on `graph`.

            sqrt(1 + L²) ‖W‖₂ · ‖W₁‖₂ · the largest slope of GELU · ‖W₂‖₂

        with L that of attention to the neighbours, by its score norm: z ↦ (z, m) has sqrt(1 + L²), head by head.
        """
        attention = self._attention_bound(without_loops(graph).graph)
        both = Bound((1 + attention.value**2) ** 0.5 * spectral_norm(self.fc.weight), attention.reason)
        return product([both, self.feed.certified(None)])
