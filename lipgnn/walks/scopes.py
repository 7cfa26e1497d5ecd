"""Which part of a graph matters to walks and encoders: what can be reached, window by window, laid side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch.utils.weak import WeakTensorKeyDictionary

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

    def of_windows(self, windows: torch.Tensor) -> Pairs:
        """The pairs of some windows, which are then numbered 0, 1, …; so what was searched for once serves any batch.

        Parameters
        ----------
        windows : (b,), in any order.
        """
        count = 1 + max(int(numbers.max()) if len(numbers) else -1 for numbers in (windows, self.windows))
        place, entry = entries_of(starts_of(self.windows, count), windows)
        return Pairs(place, self.nodes[entry], self.distance[entry])


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
    first, edges = _by_end(sources, num_nodes)
    return _spread(first, targets[edges], start_nodes, start_windows, horizons - 1)


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
    first, edges = _by_end(targets, num_nodes)
    windows = int(pair_windows.max()) + 1 if len(pair_windows) else 0
    limits = torch.full((windows,), hops, dtype=torch.int64, device=sources.device)
    return _spread(first, sources[edges], pair_nodes, pair_windows, limits)


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
    senders = _ascending(pairs[0] * num_nodes + pairs[1])
    first, by_source = _by_end(sources, num_nodes)
    place, entry = entries_of(first, senders % num_nodes)
    edge, tails = by_source[entry], senders[place]
    heads = tails - tails % num_nodes + targets[edge]
    within, at = _places(senders, heads)
    outside = [heads[~within]]
    if closed:
        keys = closed[0] * num_nodes + closed[1]
        outside.append(keys[~_places(senders, keys)[0]])
    others = torch.cat(outside).unique()
    # Both lists ascend: in the common one a number is behind those of its own list and the smaller ones of the other.
    sender_number = torch.arange(len(senders), device=senders.device) + torch.searchsorted(others, senders)
    other_number = torch.arange(len(others), device=senders.device) + torch.searchsorted(senders, others)
    head_number = torch.empty_like(heads)
    head_number[within] = sender_number[at[within]]
    head_number[~within] = other_number[torch.searchsorted(others, heads[~within])]
    keys = torch.empty(len(senders) + len(others), dtype=torch.int64, device=senders.device)
    keys[sender_number], keys[other_number] = senders, others
    graph = WalkGraph(sender_number[place], head_number, len(keys), keys // num_nodes, horizons)
    return SideBySide(graph, keys % num_nodes, edge, num_nodes)


class _Order(NamedTuple):
    version: int
    first: torch.Tensor
    edges: torch.Tensor


# The edges of a whole graph by one of their ends, as long as the array of these ends lives.
_made = WeakTensorKeyDictionary()


def _by_end(ends: torch.Tensor, num_nodes: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(first (N + 1,), edge (E,)): the edges of node v are edge[first[v] : first[v + 1]], ascending; made once."""
    known = _made.get(ends)
    if known is None or known.version != ends._version or len(known.first) != num_nodes + 1:
        known = _made[ends] = _Order(ends._version, starts_of(ends, num_nodes), torch.argsort(ends, stable=True))
    return known.first, known.edges


def _ascending(keys: torch.Tensor) -> torch.Tensor:
    """Every number once, ascending."""
    return keys if bool((keys.diff() > 0).all()) else keys.unique()


def _places(keys: torch.Tensor, wanted: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Whether numbers are in an ascending list, and where."""
    if not len(keys):
        return torch.zeros_like(wanted, dtype=torch.bool), wanted
    place = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
    return keys[place] == wanted, place


def _spread(
    first: torch.Tensor, other: torch.Tensor, nodes: torch.Tensor, windows: torch.Tensor, limits: torch.Tensor
) -> Pairs:
    """Pairs within limits[window] edges of given ones, by a search in breadth of all windows at once.

    Every pair is looked at once, with its edges.
    """
    size = len(first) - 1
    # What is not found yet has −1; what is found has the number that it was found with, and its distance in the end.
    mark = torch.full((len(limits) * size,), -1, dtype=torch.int32, device=nodes.device)
    found, levels = (windows * size + nodes)[limits[windows] >= 0], []
    for step in range(int(limits.max()) + 1 if len(limits) else 0):
        if step:
            going = found[limits[found // size] >= step]
            place, entry = entries_of(first, going % size)
            found = (going - going % size)[place] + other[entry]
            found = found[mark[found] < 0]
        if not len(found):
            break
        # Of equal ones one is left, whichever it is.
        number = torch.arange(len(found), dtype=torch.int32, device=found.device)
        mark[found] = number
        found = found[mark[found] == number]
        levels.append(found)
    for step, level in enumerate(levels):
        mark[level] = step
    keys = (mark >= 0).nonzero()[:, 0]
    return Pairs(keys // size, keys % size, mark[keys].long())


def _find(keys: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """The places of numbers in an ascending list."""
    there, place = _places(keys, wanted)
    if not bool(there.all()):
        raise DataError("A node or edge was asked for that is not part of the graph.", "Cut it no closer.")
    return place
