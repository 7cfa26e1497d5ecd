"""A network on a large graph, some nodes at a time: layer after layer, so that every layer sees all neighbours."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from lipgnn.errors import UsageError
from lipgnn.network.deep import DeepGNN
from lipgnn.network.hops import Hop
from lipgnn.network.jumps import join
from lipgnn.network.recompute import run_blocks
from lipgnn.nn.contract import acts_alike, is_local
from lipgnn.runtime import EDGE_TYPE, dgl


@torch.no_grad()
def logits_in_parts(network: DeepGNN, graph: dgl.DGLGraph, features: torch.Tensor, size: int) -> torch.Tensor:
    """network(graph, features), (N, C), up to rounding, with what a layer needs for `size` nodes in memory at once.

    For every layer, and every `size` nodes of the graph in order, the layer is computed on the edges into these nodes.
    What is kept are the features of all nodes before and after one layer, and of all layers where they are joined.

    Parameters
    ----------
    network : in evaluation mode.

    Raises
    ------
    UsageError : a layer or norm looks at more than the in-neighbours of a node.
    """
    _check_parts(network)
    x = network.encode(features)
    start = x if network.needs_start else None
    outputs: list[torch.Tensor] = []
    for block in network.blocks:
        x = torch.cat([run_blocks([block], hop, x, start) for hop in _hops(graph, size)])
        if network.jk != "none":
            outputs.append(x)
    return network.decode(graph, join(outputs, network.jk) if outputs else x)


def _check_parts(network: DeepGNN) -> None:
    whole = "Leave --batch-size out, so that the graph is seen at once."
    if network.reversible:
        raise UsageError("A reversible stack needs the same nodes in every layer, and cannot be cut.", whole)
    for part in network.blocks[0].parts:
        if not is_local(part) or (part is network.blocks[0].conv and not acts_alike(part)):
            raise UsageError(
                f"{type(part).__name__} looks at more of a graph than the edges into some nodes, and cannot be cut.",
                whole,
            )


def _hops(graph: dgl.DGLGraph, size: int) -> Iterator[Hop]:
    """The edges into `size` nodes after the other, each as a hop with these nodes first."""
    place = torch.empty(graph.num_nodes(), dtype=torch.int64, device=graph.device)
    for targets in torch.arange(graph.num_nodes(), device=graph.device).split(size):
        sources, ends, numbers = graph.in_edges(targets, form="all")
        others = sources.unique()
        others = others[(others < targets[0]) | (others > targets[-1])]
        rows = torch.cat([targets, others])
        place[rows] = torch.arange(len(rows), device=rows.device)
        # Every node of a hop has its self-loop. Those of the targets are among the edges; what the others come to, of
        # whatever type their loops are, is dropped.
        loops = torch.arange(len(targets), len(rows), device=rows.device)
        cut = dgl.graph((torch.cat([place[sources], loops]), torch.cat([place[ends], loops])), num_nodes=len(rows))
        if EDGE_TYPE in graph.edata:
            types = graph.edata[EDGE_TYPE][numbers]
            cut.edata[EDGE_TYPE] = torch.cat([types, types.new_zeros(len(loops))])
        yield Hop(cut, len(targets), rows)
