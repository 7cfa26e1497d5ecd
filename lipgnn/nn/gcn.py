"""Graph convolution, from DGL."""

from __future__ import annotations

import torch

from lipgnn.nn.linear_map import LinearMap
from lipgnn.norms import Bound
from lipgnn.norms.lengths import spectral_norm
from lipgnn.runtime import dgl
from lipgnn.spec.network import NetworkSpec


class GCNConv(dgl.nn.GraphConv):
    """x_i ← Σ_{j∈N(i)} W x_j / sqrt(d_i d_j) + b, on a graph that has its self-loops.

    d_i counts the in-edges of the target, d_j the out-edges of the source; on an undirected graph both are degrees.

    Reference: Kipf & Welling, "Semi-Supervised Classification with Graph Convolutional Networks", ICLR 2017.
    """

    local = True
    counts_out_edges = True
    keeps_statistics = False

    def __init__(self, in_feats: int, out_feats: int, bias: bool = True):
        super().__init__(in_feats, out_feats, norm="both", bias=bias, allow_zero_in_degree=True)

    @classmethod
    def from_spec(cls, spec: NetworkSpec, width: int) -> GCNConv:
        """The layer of this network, from features of `width` channels to as many."""
        return cls(width, width, bias=spec.bias == "layers")

    @property
    def maps(self) -> list[LinearMap]:
        """Its one linear map."""
        return [self.value_map]

    @property
    def value_map(self) -> LinearMap:
        """The map from features to what is added up."""
        return LinearMap(self, last=True)

    def values(self, x: torch.Tensor) -> torch.Tensor:
        """W x, (N, F) → (N, F)."""
        return x @ self.weight

    def certified(self, graph: dgl.DGLGraph) -> Bound:
        """The Lipschitz constant of the layer on `graph`: ‖Â‖₂ ‖W‖₂ ≤ ‖W‖₂.

        ‖Â‖₂ ≤ 1 on any graph by Schur's test with the roots of the degrees, d_i of in-edges and d_j of out-edges:
        Σ_j Â_ij √d_j = Σ_{j∈N(i)} 1/√d_i = √d_i, and Σ_i Â_ij √d_i = √d_j.
        """
        return Bound(spectral_norm(self.weight))
