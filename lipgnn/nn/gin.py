"""Graph isomorphism layer, from DGL."""

from __future__ import annotations

from torch import nn

from lipgnn.runtime import dgl


class GINConv(dgl.nn.GINConv):
    """x_i ← MLP( x_i + Σ_{j∈N(i), j≠i} x_j ), the MLP being Linear, BatchNorm, ReLU, Linear.

    The paper's ε is 0. The graph has self-loops, through which a node enters its own sum already; DGL's
    further (1 + ε) x_i would count it twice and is switched off by ε = −1.

    Reference: Xu et al., "How Powerful are Graph Neural Networks?", ICLR 2019.
    """

    def __init__(self, in_feats: int, out_feats: int):
        mlp = nn.Sequential(
            nn.Linear(in_feats, out_feats),
            nn.BatchNorm1d(out_feats),
            nn.ReLU(),
            nn.Linear(out_feats, out_feats),
        )
        super().__init__(mlp, "sum", init_eps=-1)
