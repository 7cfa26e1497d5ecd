"""Graph isomorphism layer, from DGL."""

from __future__ import annotations

import math

import torch
from torch import nn

from lipgnn.nn.linear_map import LinearMap
from lipgnn.norms import Bound
from lipgnn.norms.lengths import spectral_norm
from lipgnn.runtime import dgl
from lipgnn.spec.network import NetworkSpec


class GINConv(dgl.nn.GINConv):
    """x_i ← MLP( x_i + Σ_{j∈N(i), j≠i} x_j ), the MLP being Linear, BatchNorm, ReLU, Linear.

    The paper's ε is 0. The graph has self-loops, through which a node enters its own sum already; DGL's
    further (1 + ε) x_i would count it twice and is switched off by ε = −1.

    Reference: Xu et al., "How Powerful are Graph Neural Networks?", ICLR 2019.
    """

    # In training the BatchNorm mixes all nodes of the batch.
    local = False
    counts_out_edges = False
    keeps_statistics = True

    def __init__(self, in_feats: int, out_feats: int, bias: bool = True):
        mlp = nn.Sequential(
            nn.Linear(in_feats, out_feats, bias=bias),
            nn.BatchNorm1d(out_feats),
            nn.ReLU(),
            nn.Linear(out_feats, out_feats, bias=bias),
        )
        super().__init__(mlp, "sum", init_eps=-1)

    @classmethod
    def from_spec(cls, spec: NetworkSpec, width: int) -> GINConv:
        """The layer of this network, from features of `width` channels to as many."""
        return cls(width, width, bias=spec.bias == "layers")

    @property
    def maps(self) -> list[LinearMap]:
        """The two linear maps of its MLP."""
        first, _, _, second = self.apply_func
        return [LinearMap(first), LinearMap(second, last=True)]

    @torch.no_grad()
    def certified(self, graph: dgl.DGLGraph) -> Bound:
        """The Lipschitz constant of the layer on `graph`, in evaluation.

            sqrt( max_i d_i · max_j d_j ) ‖diag(γ/√(var + ε)) W₁‖₂ ‖W₂‖₂

        with the numbers d_i of in-edges and d_j of out-edges: the largest row and column sums of the adjacency matrix,
        whose product bounds the square of its largest singular value. In evaluation BatchNorm is the map in front of
        W₁, and ReLU is 1-Lipschitz.
        """
        if graph.num_edges() == 0:
            return Bound(0.0)
        first, norm, _, second = self.apply_func
        scaled = (norm.weight * (norm.running_var + norm.eps).rsqrt()).unsqueeze(1) * first.weight
        edges = math.sqrt(graph.in_degrees().max().item() * graph.out_degrees().max().item())
        return Bound(edges * spectral_norm(scaled) * spectral_norm(second.weight))
