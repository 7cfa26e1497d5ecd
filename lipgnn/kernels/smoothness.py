"""How far apart the ends of edges are: on the CPU, by one compiled pass without a row for every edge."""

from __future__ import annotations

import torch

from lipgnn.errors import DataError
from lipgnn.kernels import native
from lipgnn.kernels.adjacency import Adjacency
from lipgnn.runtime import dgl


def smoothness(graph: dgl.DGLGraph, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Dirichlet energy and mean average distance of x (N, W), as `lipgnn.measures.features` defines them.

    Raises
    ------
    DataError : not a row for every node, or nodes that are either sources or targets.
    """
    adjacency = Adjacency.of(graph)
    if graph.is_block or x.dim() != 2 or not len(x) == adjacency.num_sources == adjacency.num_targets:
        raise DataError(
            f"x must have a row for each of the {adjacency.num_sources} nodes, and has shape {tuple(x.shape)}.",
            "Give a graph with one kind of nodes, and their features.",
        )
    result = torch.empty(2, dtype=torch.float64, device=x.device)
    native.call(
        "smoothness",
        "forward",
        x.dtype,
        graph=adjacency,
        width=x.shape[1],
        x=x.contiguous(),
        result=result,
    )
    energy, distance = result.unbind()
    return energy, distance
