"""Graph convolution, from DGL."""

from __future__ import annotations

from lipgnn.runtime import dgl


class GCNConv(dgl.nn.GraphConv):
    """x_i ← Σ_{j∈N(i)} W x_j / sqrt(d_i d_j) + b, on a graph that has its self-loops.

    d_i counts the in-edges of the target, d_j the out-edges of the source; on an undirected graph both are degrees.

    Reference: Kipf & Welling, "Semi-Supervised Classification with Graph Convolutional Networks", ICLR 2017.
    """

    def __init__(self, in_feats: int, out_feats: int):
        super().__init__(in_feats, out_feats, norm="both", allow_zero_in_degree=True)
