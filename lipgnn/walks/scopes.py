"""Which part of a graph matters to walks and encoders: what can be reached, window by window, laid side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch

from lipgnn.errors import DataError
from lipgnn.walks.graph import WalkGraph
from lipgnn.walks.segments import entries_of, starts_of


class Pairs(NamedTuple):
    """Nodes of the whole graph, each in some window.

    Attributes
    ----------
    windows, nodes : (P,), in the order of windows, then of nodes; no pair twice.
    distance : (P,), how many edges it is away from where the search began.
    """

    windows: torch.Tensor
    nodes: torch.Tensor
    distance: torch.Tensor


@dataclass(frozen=True)
class SideBySide:
    """Parts of one graph, a part for every window, side by side.

    Attributes
    ----------
    graph : its nodes are pairs (window, node), in the order of windows, then of nodes.
    nodes : (P,), the node of the whole graph that every pair is of.
    edges : (E,), the edge of the whole graph that every edge is of; edges are in the order of their sources, then as in
        the whole graph.
    size : how many nodes the whole graph has.
    """

    graph: WalkGraph
    nodes: torch.Tensor
    edges: torch.Tensor
    size: int

    def find_nodes(self, windows: torch.Tensor, nodes: torch.Tensor) -> torch.Tensor:
        """The numbers of pairs in this graph.

        Raises
        ------
        DataError : a pair that is not part of it.
        """
        return _find(self.graph.node_window * self.size + self.nodes, windows * self.size + nodes)

    def find_edges(self, windows: torch.Tensor, edges: torch.Tensor, sources: torch.Tensor) -> torch.Tensor:
        """The numbers in this graph of edges of the whole graph, each in some window.

        Parameters
        ----------
        windows, edges : (K,)
        sources : those of all edges of the whole graph.

        Raises
        ------
        DataError : an edge that is not part of it.
        """
        tails = self.find_nodes(windows, sources[edges])
        return _find(self.graph.sources * len(sources) + self.edges, tails * len(sources) + edges)


def reachable(
    sources: torch.Tensor,
    targets: torch.Tensor,
    num_nodes: int,
    start_nodes: torch.Tensor,
    start_windows: torch.Tensor,
    horizons: torch.Tensor,
) -> Pairs:
    """All pairs (window, node) at which walkers can be before their last step, whose out-edges are then needed.

    Parameters
    ----------
    sources, targets, num_nodes : the whole graph.
    start_nodes, start_windows : (P,), where walkers start, in any order.
    horizons : (B,), the number of steps of every window; from one of 0 steps nothing is needed.
    """
    first, other = _neighbours(sources, targets, num_nodes)
    return _spread(first, other, start_nodes, start_windows, horizons - 1)


def upstream(
    sources: torch.Tensor,
    targets: torch.Tensor,
    num_nodes: int,
    pair_windows: torch.Tensor,
    pair_nodes: torch.Tensor,
    hops: int,
) -> Pairs:
    """All pairs (window, node) from which at most `hops` edges lead to one of the given pairs of the same window.

    So many layers of an encoder look at no other nodes.
    """
    first, other = _neighbours(targets, sources, num_nodes)
    windows = int(pair_windows.max()) + 1 if len(pair_windows) else 0
    limits = torch.full((windows,), hops, dtype=torch.int64, device=sources.device)
    return _spread(first, other, pair_nodes, pair_windows, limits)


def lay_side_by_side(
    sources: torch.Tensor,
    targets: torch.Tensor,
    num_nodes: int,
    pairs: Pairs | tuple[torch.Tensor, torch.Tensor],
    horizons: torch.Tensor,
    closed: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> SideBySide:
    """The graph of all out-edges of some nodes, for every window its own ones.

    Nodes that edges lead to, but which are not asked for, have no out-edges; walkers may be there after their last step
    only.

    Parameters
    ----------
    sources, targets, num_nodes : the whole graph.
    pairs : windows and nodes whose out-edges are wanted, as `reachable` gives them, in any order.
    horizons : (B,), descending.
    closed : windows and nodes that are part of the graph whether or not an edge leads there.
    """
    senders = (pairs[0] * num_nodes + pairs[1]).unique()
    by_source = torch.argsort(sources, stable=True)
    first = starts_of(sources, num_nodes)
    place, entry = entries_of(first, senders % num_nodes)
    edge = by_source[entry]
    tails = senders[place]
    heads = tails - tails % num_nodes + targets[edge]
    further = [closed[0] * num_nodes + closed[1]] if closed else []
    keys = torch.cat([senders, heads, *further]).unique()
    graph = WalkGraph(
        torch.searchsorted(keys, tails), torch.searchsorted(keys, heads), len(keys), keys // num_nodes, horizons
    )
    return SideBySide(graph, keys % num_nodes, edge, num_nodes)


def _neighbours(near: torch.Tensor, far: torch.Tensor, num_nodes: int) -> tuple[torch.Tensor, torch.Tensor]:
    return starts_of(near, num_nodes), far[torch.argsort(near, stable=True)]


def _spread(
    first: torch.Tensor, other: torch.Tensor, nodes: torch.Tensor, windows: torch.Tensor, limits: torch.Tensor
) -> Pairs:
    """Pairs within limits[window] edges of given ones, by a search in breadth of all windows at once.

    Every pair is looked at once, with its edges.
    """
    size = len(first) - 1
    distance = torch.full((len(limits) * size,), -1, dtype=torch.int32, device=nodes.device)
    winner = torch.empty_like(distance)
    found = (windows * size + nodes)[limits[windows] >= 0]
    for step in range(int(limits.max()) + 1 if len(limits) else 0):
        if step:
            going = found[limits[found // size] >= step]
            place, entry = entries_of(first, going % size)
            going = going[place]
            found = going - going % size + other[entry]
            found = found[distance[found] < 0]
        # Of equal ones one is left, whichever it is.
        number = torch.arange(len(found), dtype=torch.int32, device=found.device)
        winner[found] = number
        found = found[winner[found] == number]
        distance[found] = step
        if not len(found):
            break
    keys = (distance >= 0).nonzero()[:, 0]
    return Pairs(keys // size, keys % size, distance[keys].long())


def _find(keys: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """The places of numbers in an ascending list."""
    place = torch.searchsorted(keys, wanted)
    if len(wanted) and (not len(keys) or bool((keys[place.clamp(max=len(keys) - 1)] != wanted).any())):
        raise DataError("A node or edge was asked for that is not part of the graph.", "Cut it no closer.")
    return place
