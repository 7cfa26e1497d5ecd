"""Networks that extrapolate paths: an encoder of what was observed, logits of edges, and walks by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import torch
from torch import nn

from lipgnn.errors import UsageError
from lipgnn.network.deep import DeepGNN
from lipgnn.nn.diffusion import Diffusion
from lipgnn.nn.edge_head import EdgeHead
from lipgnn.runtime import dgl
from lipgnn.spec.run import RunSpec
from lipgnn.walks.outcomes import Scene, loss_of, outcomes


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The graph of a network that extrapolates paths: what is encoded, and what is walked on.

    Attributes
    ----------
    layers : the graph of the encoder, with self-loops; None where nothing is left to encode.
    rows : (P,) of the encoder's output, those of the nodes of the scene; None where they are all, in their order.
    columns : (P, C) of the encoder's output, those that are of a pair's own window; None where all are.
    scene : the windows.
    node_features, edge_features : of the nodes and edges of the scene.
    whole : whether walkers find all that they can reach, so that everything can be measured; else the loss alone.
    """

    layers: dgl.DGLGraph | None
    rows: torch.Tensor | None
    columns: torch.Tensor | None
    scene: Scene
    node_features: torch.Tensor
    edge_features: torch.Tensor
    whole: bool

    def of_scene(self, h: torch.Tensor) -> torch.Tensor:
        """What the encoder says of the nodes of the scene, (P, C)."""
        if self.columns is not None:
            # By index_select, whose gradient is the same at any number of threads.
            places = self.rows[:, None] * h.shape[1] + self.columns
            return h.flatten().index_select(0, places.flatten()).view(places.shape)
        return h if self.rows is None else h.index_select(0, self.rows)


class PathNetwork(DeepGNN):
    """Edge logits [h_s, x_s, h_r, x_r, f_e] → perceptron, with h from an encoder; then what walks by them come to.

    The encoder is the deep stack: its input at a node are the weights of the window's observations there and the
    node's features.

    Parameters
    ----------
    spec : what the network is; its `loss` and `walk` are part of it.
    node_width, edge_width : numbers of features of nodes and edges.
    width : of what is encoded.
    parts : of the deep stack, where they are not its own.
    """

    def __init__(self, spec: RunSpec, node_width: int, edge_width: int, width: int, **parts: Any):
        def head(spec: RunSpec, edge_width: int) -> nn.Module:
            return EdgeHead(width + node_width, edge_width)

        super().__init__(spec, spec.observed + node_width, edge_width, head=head, **parts)
        self.loss, self.walk = spec.loss, spec.walk

    def layer_graph(self, graph: Surroundings) -> dgl.DGLGraph | None:
        return graph.layers

    def decode(self, graph: Surroundings, h: torch.Tensor) -> torch.Tensor:
        """Encoded nodes → the loss of every window (B, 1) or, of what is whole, a row of OUTCOMES (B, M)."""
        logits = self.logits(graph, h)
        if graph.whole:
            return outcomes(graph.scene, logits, self.loss, self.walk)
        return loss_of(graph.scene, logits, self.loss, self.walk)[:, None]

    def from_encoder(self, graph: Surroundings, x: torch.Tensor) -> NoReturn:
        raise UsageError("How far a network looks is measured of outputs of nodes, and those of paths are of walks.")

    def edge_logits(self, graph: Surroundings, x: torch.Tensor) -> torch.Tensor:
        """The input of the network → the logits of the edges of the scene, (E,)."""
        return self.logits(graph, self.body(self.layer_graph(graph), self.encode(x)))

    def logits(self, graph: Surroundings, h: torch.Tensor) -> torch.Tensor:
        """The logits of the edges of the scene, (E,)."""
        walked = graph.scene.graph
        h = torch.cat([graph.of_scene(self.dropout(h)), graph.node_features], dim=1)
        return self.decoder(h, walked.sources, walked.targets, graph.edge_features)


class DiffusionNetwork(PathNetwork):
    """The same with Gretel's encoder: distributions over the nodes of the whole graph, diffused along its edges.

    Where transitions are uniform nothing is learned before the head, and what diffusion makes of the observations may
    come as the input, without a graph to diffuse on.

    Reference: Cordonnier & Loukas, "Extrapolating paths with graph neural networks", IJCAI 2019.
    """

    _last: tuple[Any, ...] | None = None

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return x

    def run(
        self,
        blocks: Sequence[nn.Module],
        graph: dgl.DGLGraph | None,
        x: torch.Tensor,
        start: torch.Tensor | None = None,
    ) -> torch.Tensor:
        if graph is None:
            return x
        if torch.is_grad_enabled():
            return super().run(blocks, graph, x, start)
        # The batches of an evaluation have one input in common. Weights are compared by their values: an optimizer need
        # not count its changes.
        weights = torch.cat([x.new_zeros(0), *(weight.detach().flatten() for weight in self.blocks.parameters())])
        known = self._last
        if known is None or known[0] is not x or known[1] is not graph or not torch.equal(known[2], weights):
            self._last = x, graph, weights, super().run(blocks, graph, x, start)
        return self._last[3]


def path_network(spec: RunSpec, node_width: int, edge_width: int) -> PathNetwork:
    """The network of a run of task paths, with new weights.

    Parameters
    ----------
    node_width, edge_width : numbers of features of nodes and edges.
    """
    if spec.model != "diffusion":
        return PathNetwork(spec, node_width, edge_width, spec.decoder_width)
    diffusion = Diffusion(spec.layers, spec.transitions, spec.directions, node_width, edge_width)
    width = spec.observed * (2 if diffusion.both else 1)
    return DiffusionNetwork(spec, node_width, edge_width, width, encoder=_no_encoder, blocks=[diffusion])


def _no_encoder(spec: RunSpec, in_feats: int) -> nn.Module:
    return nn.Identity()
