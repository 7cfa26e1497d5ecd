"""What the candidates of a comparison compute on: one graph, the same features, the same weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import nn

from lipgnn.bench.graphs import Topology
from lipgnn.catalog import MODELS, NO_NORM
from lipgnn.kernels import fused
from lipgnn.kernels.adjacency import Adjacency
from lipgnn.kernels.edge_types import TypedEdges
from lipgnn.nn import GATConv, GATv2Conv, GroupedHeadsConv, SharedHeadsConv, TransformerConv
from lipgnn.runtime import EDGE_TYPE, dgl
from lipgnn.spec.head_sharing import NO_SHARING, HeadSharing, parse_head_sharing
from lipgnn.spec.run import FIELDS

Tensors = tuple[torch.Tensor, ...]

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Shape:
    """What is computed.

    Attributes
    ----------
    model : "gat", "gatv2" or "gt".
    heads, width : H and D; the input of a whole layer is H·D wide, as in a deep stack.
    head_sharing, shared_dim : what heads share, and how wide that is; 0 is as wide as fits.
    edge_types : how many types the edges have, drawn for each at random; of gt alone, and 0 for none.
    """

    model: str
    heads: int
    width: int
    head_sharing: str = NO_SHARING
    shared_dim: int = 0
    edge_types: int = 0

    @property
    def sharing(self) -> HeadSharing | None:
        """What heads share, if they do."""
        return parse_head_sharing(self.head_sharing)

    @property
    def channels(self) -> int:
        """The width of shared keys; 0 where heads share nothing."""
        return self.sharing.width(self.shared_dim, hidden=self.width, heads=self.heads) if self.sharing else 0

    @property
    def plain(self) -> Shape:
        """The same of heads that share nothing."""
        return replace(self, head_sharing=NO_SHARING, shared_dim=0)

    def __str__(self) -> str:
        return f"{self.model} {self.head_sharing}:{self.channels}" if self.sharing else self.model

    @property
    def kappa(self) -> float:
        """The default of the model."""
        return MODELS[self.model].defaults.get("kappa", FIELDS["kappa"].default)


def make_ready(graph: Any) -> None:
    """Give a graph all forms that DGL and the fused kernel know, so that no step is the one that makes them."""
    graph.create_formats_()
    Adjacency.of(graph)


class Inputs:
    """A graph with features on it, made when first asked for, and shared by all candidates."""

    def __init__(self, topology: Topology, shape: Shape):
        self.topology, self.shape = topology, shape
        sources, targets = (torch.tensor(row, device=CPU) for row in topology.edges)
        self.graph = dgl.graph((sources, targets), num_nodes=topology.num_nodes)
        self.generator = torch.Generator(CPU).manual_seed(0)
        self.nodes, self.channels = topology.num_nodes, shape.heads * shape.width
        make_ready(self.graph)
        if shape.edge_types:
            count = self.graph.num_edges()
            self.graph.edata[EDGE_TYPE] = torch.randint(
                shape.edge_types, (count,), generator=self.generator, device=CPU
            )
            TypedEdges.of(self.graph, shape.edge_types)

    @cached_property
    def x(self) -> torch.Tensor:
        """(N, H·D), the input of a whole layer."""
        return self._draw(self.nodes, self.channels).requires_grad_()

    @cached_property
    def z(self) -> Tensors:
        """Projected features, (N, H, D): one for gat, key and query for gatv2, query, key and value for gt.

        Queries and keys that heads share are (N, D̃).
        """
        if self.shape.sharing:
            shared = (self._draw(self.nodes, self.shape.channels) for _ in range(2))
            return tuple(z.requires_grad_() for z in (*shared, self._projected()))
        count = {"gat": 1, "gatv2": 2, "gt": 3}[self.shape.model]
        return tuple(self._projected().requires_grad_() for _ in range(count))

    @cached_property
    def z_fused(self) -> Tensors:
        """The same, in the order in memory that the fused kernel has its layers produce."""
        return tuple(self.in_fused_order(z.detach()).requires_grad_() for z in self.z)

    @cached_property
    def gradient(self) -> torch.Tensor:
        """(N, H, D), of the output."""
        return self._projected()

    @cached_property
    def weights(self) -> dict[str, torch.Tensor]:
        """The state of a layer."""
        torch.manual_seed(0)
        return self.layer(NO_NORM, "dgl").state_dict()

    @cached_property
    def plain(self) -> Inputs:
        """The same of heads that share nothing."""
        return Inputs(self.topology, self.shape.plain)

    def layer(self, norm: str, kernel: str) -> nn.Module:
        """A layer of ours."""
        shape, sharing = self.shape, self.shape.sharing
        kind = {"gat": GATConv, "gatv2": GATv2Conv, "gt": TransformerConv}[shape.model]
        own: dict[str, Any] = {}
        if sharing:
            kind, own = SharedHeadsConv, {"shared_dim": shape.channels}
        if sharing and sharing.groups:
            kind, own = GroupedHeadsConv, {**own, "groups": sharing.groups}
        score = None if norm == NO_NORM else norm
        if shape.edge_types:
            own["edge_types"] = shape.edge_types
        return kind(self.channels, shape.width, shape.heads, norm=score, kappa=shape.kappa, kernel=kernel, **own)

    def in_fused_order(self, z: torch.Tensor) -> torch.Tensor:
        """(N, H, D) with the heads next to each other in memory where the fused kernel likes them so."""
        if z.dim() == 2 or not fused.heads_fastest(self.shape.heads, self.shape.width):
            return z.clone()
        return z.transpose(1, 2).contiguous().transpose(1, 2)

    def _projected(self) -> torch.Tensor:
        return self._draw(self.nodes, self.shape.heads, self.shape.width)

    def _draw(self, *size: int) -> torch.Tensor:
        return torch.randn(size, generator=self.generator, device=CPU)
