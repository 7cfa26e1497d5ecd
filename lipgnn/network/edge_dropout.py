"""Dropout of edges: every training step sees a thinner graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch.nn.modules.dropout import _DropoutNd

from lipgnn.network.hops import Graphs, Hop
from lipgnn.runtime import EDGE_TYPE, MEMBERSHIP, dgl, members_of


class EdgeDropout(_DropoutNd):
    """Leave out a share p of the edges in training, drawn anew in every step and the same in all layers.

    Each direction of an edge is drawn on its own. Self-loops stay, so that no node is left without an in-edge, and so
    do all nodes, each in its graph of a batch. An edge that stays keeps its type. Where there is a graph for every
    layer, each is thinned by itself.

    Reference: Rong et al., "DropEdge: Towards Deep Graph Convolutional Networks on Node Classification", ICLR 2020.
    """

    def forward(self, graph: Graphs) -> Graphs:
        """The graph, or the graphs of all layers, without the edges that were drawn."""
        if not self.training or self.p == 0:
            return graph
        if isinstance(graph, Sequence):
            return [self(own) for own in graph]
        if isinstance(graph, Hop):
            return replace(graph, graph=self(graph.graph))
        sources, targets = graph.edges()
        kept = (torch.rand(len(sources), device=sources.device) >= self.p) | (sources == targets)
        thinner = dgl.graph((sources[kept], targets[kept]), num_nodes=graph.num_nodes())
        if (members := members_of(graph)) is not None:
            thinner.ndata[MEMBERSHIP] = members
        if EDGE_TYPE in graph.edata:
            thinner.edata[EDGE_TYPE] = graph.edata[EDGE_TYPE][kept]
        return thinner
