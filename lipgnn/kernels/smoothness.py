"""How far apart the ends of edges are: on the CPU, by one compiled pass without a row for every edge."""

from __future__ import annotations

import torch

from lipgnn.kernels import native
from lipgnn.kernels.adjacency import Adjacency
from lipgnn.runtime import dgl


def smoothness(graph: dgl.DGLGraph, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Dirichlet energy and mean average distance of x (N, W), as `lipgnn.measures.features` defines them."""
    result = torch.empty(2, dtype=torch.float64, device=x.device)
    native.call(
        "smoothness",
        "forward",
        x.dtype,
        graph=Adjacency.of(graph),
        width=x.shape[1],
        x=x.contiguous(),
        result=result,
    )
    energy, distance = result.unbind()
    return energy, distance
