"""Gated graph layer, from DGL."""

from __future__ import annotations

from lipgnn.norms import Bound
from lipgnn.runtime import dgl
from lipgnn.spec.network import NetworkSpec


class GGNNConv(dgl.nn.GatedGraphConv):
    """x_i ← GRU( Σ_{j∈N(i)} (W x_j + b), x_i ): one step, with weights of its own in every layer.

    Reference: Li et al., "Gated Graph Sequence Neural Networks", ICLR 2016.
    """

    local = True
    counts_out_edges = False
    keeps_statistics = False

    def __init__(self, in_feats: int, out_feats: int):
        super().__init__(in_feats, out_feats, n_steps=1, n_etypes=1)

    @classmethod
    def from_spec(cls, spec: NetworkSpec, width: int) -> GGNNConv:
        """The layer of this network, from features of `width` channels to as many."""
        return cls(width, width)

    def certified(self, graph: dgl.DGLGraph) -> Bound:
        """No bound is known."""
        return Bound.unknown("a gate multiplies what it weighs, which is not Lipschitz: use another --model than ggnn")
