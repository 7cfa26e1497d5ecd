"""The most probable nodes of every window, and whether the right ones are among them."""

from __future__ import annotations

import torch

from lipgnn.walks.graph import WalkGraph
from lipgnn.walks.segments import starts_of


def best_nodes(graph: WalkGraph, mass: torch.Tensor, k: int) -> torch.Tensor:
    """The k nodes with most mass of every window, (B, k), most first; of equal ones that with the lower number.

    −1 where a window has fewer than k nodes with mass, so that it makes no difference whether nodes which no walker
    can come to are part of the graph.
    """
    order = torch.argsort(mass.detach(), descending=True, stable=True)
    order = order[torch.argsort(graph.node_window[order], stable=True)]
    first = starts_of(graph.node_window, graph.num_windows)
    place = first[:-1, None] + torch.arange(k, device=mass.device)
    there = place < first[1:, None]
    node = order[place.clamp(max=max(graph.num_nodes - 1, 0))] if graph.num_nodes else place
    there &= mass.detach()[node] > 0 if graph.num_nodes else there
    return node.where(there, -1)


def hits(best: torch.Tensor, support: torch.Tensor) -> torch.Tensor:
    """Whether any of the best nodes of every window, as `best_nodes` gives them, lies in a support, (B,) bool.

    Parameters
    ----------
    best : (B, k), −1 for none.
    support : (N,) bool, the nodes looked for, of all windows.
    """
    return (support[best] & (best >= 0)).any(1)
