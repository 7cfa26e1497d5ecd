"""GraphSAGE with the mean of the neighbours."""

from __future__ import annotations

import math

import torch
from torch import nn

from lipgnn.nn.ends import Ends, Features
from lipgnn.nn.linear_map import LinearMap
from lipgnn.nn.loops import without_loops
from lipgnn.norms import Bound
from lipgnn.norms.lengths import spectral_norm
from lipgnn.runtime import PerGraph, dgl
from lipgnn.spec.network import NetworkSpec


class SAGEConv(nn.Module):
    """The mean of the neighbours and the node itself, each through a map of its own (GraphSAGE).

        y_i = W (1/n_i) Σ_{j∈N(i)} x_j + S x_i + b

    over the n_i in-edges of node i; the mean over none is zero. Equal to DGL's `SAGEConv` of kind "mean", with
    `fc_neigh` for `value` and `fc_self` for `skip`, and to PyTorch Geometric's with `lin_l` and `lin_r`, on graphs of
    one kind of nodes, from one kind to another and on message-flow graphs.

    In a network every node has a self-loop, which the mean leaves out since S x_i is there for the node itself.
    Without S (`--skip none`) it keeps them, and the layer is attention with all weights equal.

    Reference: Hamilton et al., "Inductive Representation Learning on Large Graphs", NeurIPS 2017, algorithm 1.

    Parameters
    ----------
    in_feats, out_feats : input width, or the pair of that of sources and that of targets; output width.
    skip : whether there is S.
    loops : whether self-loops count among the edges of a node.
    bias : add b.
    """

    local = True
    counts_out_edges = False
    keeps_statistics = False
    linear_skip = True

    def __init__(
        self,
        in_feats: int | tuple[int, int],
        out_feats: int,
        *,
        skip: bool = True,
        loops: bool = True,
        bias: bool = True,
    ):
        super().__init__()
        source_feats, target_feats = in_feats if isinstance(in_feats, tuple) else (in_feats, in_feats)
        self.loops = loops
        self._widths = (source_feats, target_feats)
        # As in DGL, the map of the node itself carries the bias.
        self.value = nn.Linear(source_feats, out_feats, bias=bias and not skip)
        self.skip = nn.Linear(target_feats, out_feats, bias=bias) if skip else None
        self.reset_parameters()

    @classmethod
    def from_spec(cls, spec: NetworkSpec, width: int, in_feats: int | None = None) -> SAGEConv:
        """The layer of this network, to `width` channels, from as many or from `in_feats`."""
        own = spec.skip == "own"
        return cls(width if in_feats is None else in_feats, width, skip=own, loops=not own, bias=spec.bias == "layers")

    def reset_parameters(self) -> None:
        """Draw new weights: Glorot uniform with the gain of ReLU, as DGL does; biases zero."""
        for linear in filter(None, (self.value, self.skip)):
            nn.init.xavier_uniform_(linear.weight, gain=nn.init.calculate_gain("relu"))
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)

    def forward(self, graph: dgl.DGLGraph, feat: Features) -> torch.Tensor:
        """(N, F) → (M, F'), of a graph of N sources and M targets, which are the same where there is one kind of nodes.

        Raises
        ------
        DataError : features that do not fit the graph or the layer.
        """
        ends = Ends.of(graph, feat, like=self.value.weight, widths=self._widths)
        graph = self._edges(graph)
        degrees = graph.in_degrees().clamp(min=1).to(ends.source.dtype).unsqueeze(1)
        y = self.value(dgl.ops.copy_u_sum(graph, ends.source) / degrees)
        return y if self.skip is None else y + self.skip(ends.target)

    def _edges(self, graph: dgl.DGLGraph) -> dgl.DGLGraph:
        return graph if self.loops else without_loops(graph).graph

    @property
    def maps(self) -> list[LinearMap]:
        """That of the neighbours and that of the node itself."""
        return [self.value_map, *([] if self.skip is None else [LinearMap(self.skip, last=True)])]

    @property
    def value_map(self) -> LinearMap:
        """The map from features to what is added up."""
        return LinearMap(self.value, last=True)

    def values(self, x: torch.Tensor) -> torch.Tensor:
        """W x, (N, F) → (N, F'), without a bias."""
        return nn.functional.linear(x, self.value.weight)

    @torch.no_grad()
    def certified(self, graph: dgl.DGLGraph) -> Bound:
        """The Lipschitz constant of the layer on `graph`, the smaller one of

            m ‖W‖₂ + ‖S‖₂   and   sqrt(m² + 1) ‖[W S]‖₂,   m² = max_j Σ_{i: j∈N(i)} 1/n_i

        m bounds ‖M‖₂ for the matrix M of the means, whose rows have the sum 1 and whose columns have at most m²:
        ‖M‖₂² ≤ ‖M‖_1 ‖M‖_∞. The second is that of [W S] after x ↦ (M x, x).
        """
        if graph.is_block or len(graph.ntypes) > 1:
            return Bound.unknown("no bound is known where sources and targets are not the same nodes: use one graph")
        of_mean = _mean_bound(self._edges(graph))
        if self.skip is None:
            return Bound(of_mean * spectral_norm(self.value.weight))
        apart = of_mean * spectral_norm(self.value.weight) + spectral_norm(self.skip.weight)
        joined = torch.cat([self.value.weight, self.skip.weight], dim=1)
        return Bound(min(apart, math.hypot(of_mean, 1) * spectral_norm(joined)))

    def extra_repr(self) -> str:
        return f"loops={self.loops}"


def _largest_column(graph: dgl.DGLGraph) -> float:
    """sqrt(max_j Σ_{i: j∈N(i)} 1/n_i), in float64."""
    if graph.num_edges() == 0:
        return 0.0
    shares = graph.in_degrees().clamp(min=1).double().reciprocal()
    return math.sqrt(dgl.ops.copy_u_sum(dgl.reverse(graph), shares).max().item())


# Once a graph: every layer of a deep network asks for the same.
_mean_bound = PerGraph(_largest_column)
