"""Graph convolution."""

from __future__ import annotations

import torch

from lipgnn.kernels import affine
from lipgnn.nn.linear_map import LinearMap
from lipgnn.norms import Bound
from lipgnn.norms.lengths import spectral_norm
from lipgnn.runtime import PerGraph, dgl
from lipgnn.spec.network import NetworkSpec


class GCNConv(dgl.nn.GraphConv):
    """x_i ← Σ_{j∈N(i)} W x_j / sqrt(d_i d_j) + b, on a graph that has its self-loops.

    d_i counts the in-edges of the target, d_j the out-edges of the source; on an undirected graph both are degrees.
    Parameters are those of DGL's layer, from which it differs by its product with W.

    Parameters
    ----------
    kernel : "fused" and "auto" bring the faster product where there is one.

    Reference: Kipf & Welling, "Semi-Supervised Classification with Graph Convolutional Networks", ICLR 2017.
    """

    local = True
    counts_out_edges = True
    keeps_statistics = False

    def __init__(self, in_feats: int, out_feats: int, bias: bool = True, kernel: str = "auto"):
        super().__init__(in_feats, out_feats, norm="both", bias=bias, allow_zero_in_degree=True)
        self.kernel = kernel

    @classmethod
    def from_spec(cls, spec: NetworkSpec, width: int, in_feats: int | None = None) -> GCNConv:
        """The layer of this network, to `width` channels, from as many or from `in_feats`."""
        return cls(width if in_feats is None else in_feats, width, bias=spec.bias == "layers", kernel=spec.kernel)

    def forward(self, graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
        """(N, F) → (N, F'); the wider of the two is not added up."""
        shrinks = self.weight.shape[0] > self.weight.shape[1]
        x = _added_up(graph, self.values(x)) if shrinks else self.values(_added_up(graph, x))
        return x if self.bias is None else x + self.bias

    def mixed(self, graph: dgl.DGLGraph, x: torch.Tensor, start: torch.Tensor, alpha: float) -> torch.Tensor:
        """(1 − α) layer(graph, x) + α W x⁰ by one product, W ((1 − α) Â x + α x⁰), as GCNII has it."""
        x = self.values(torch.lerp(_added_up(graph, x), start, alpha))
        return x if self.bias is None else x + (1 - alpha) * self.bias

    @property
    def maps(self) -> list[LinearMap]:
        """Its one linear map."""
        return [self.value_map]

    @property
    def value_map(self) -> LinearMap:
        """The map from features to what is added up."""
        return LinearMap(self, last=True)

    def values(self, x: torch.Tensor) -> torch.Tensor:
        """W x, (N, F) → (N, F')."""
        return affine(x, self.weight.t(), None, self.kernel)

    def certified(self, graph: dgl.DGLGraph) -> Bound:
        """The Lipschitz constant of the layer on `graph`: ‖Â‖₂ ‖W‖₂ ≤ ‖W‖₂.

        ‖Â‖₂ ≤ 1 on any graph by Schur's test with the roots of the degrees, d_i of in-edges and d_j of out-edges:
        Σ_j Â_ij √d_j = Σ_{j∈N(i)} 1/√d_i = √d_i, and Σ_i Â_ij √d_i = √d_j.
        """
        return Bound(spectral_norm(self.weight))


def _added_up(graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
    """Â x with Â_ij = 1 / sqrt(d_i d_j), (N, F) → (N, F)."""
    of_source, of_target = (root.to(x.dtype)[:, None] for root in _roots(graph))
    return dgl.ops.copy_u_sum(graph, x * of_source) * of_target


def _find_roots(graph: dgl.DGLGraph) -> tuple[torch.Tensor, torch.Tensor]:
    """1/√d of every node as a source and as a target, in float64; nodes without edges count as if they had one."""
    return tuple(degrees.clamp(min=1).double().rsqrt() for degrees in (graph.out_degrees(), graph.in_degrees()))


# Once a graph: every layer of a deep network asks.
_roots = PerGraph(_find_roots)
