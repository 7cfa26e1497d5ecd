"""Gated graph layer, from DGL."""

from __future__ import annotations

from lipgnn.runtime import dgl


class GGNNConv(dgl.nn.GatedGraphConv):
    """x_i ← GRU( Σ_{j∈N(i)} (W x_j + b), x_i ): one step, with weights of its own in every layer.

    Reference: Li et al., "Gated Graph Sequence Neural Networks", ICLR 2016.
    """

    def __init__(self, in_feats: int, out_feats: int):
        super().__init__(in_feats, out_feats, n_steps=1, n_etypes=1)
