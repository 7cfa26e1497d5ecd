"""The graph that walkers walk on, many windows side by side, and what may follow what."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import torch

from lipgnn.errors import DataError, unknown_name
from lipgnn.kernels.walking import WalkOrder
from lipgnn.walks.segments import entries_of, starts_of

PLAIN, NON_BACKTRACKING = KINDS = ("plain", "nb")

MOST_CONTINUATIONS = 2**21
"""Walks that do not turn back are computed on graphs whose edges have at most so many continuations."""


class Moves(NamedTuple):
    """What a walker may do in one step, by the state it is in: nodes of the plain walk, edges of the other.

    Attributes
    ----------
    first : (S + 1,), the moves of state s are first[s] to first[s + 1].
    origin, to : (M,), the states before and after; moves are in the order of `origin`.
    edge : (M,), the edge whose logit speaks for the move.
    closed : (C,), the states without a move, ascending.
    """

    first: torch.Tensor
    origin: torch.Tensor
    to: torch.Tensor
    edge: torch.Tensor
    closed: torch.Tensor


@dataclass(frozen=True, eq=False)
class WalkGraph:
    """A directed graph of walks, of one window or of many side by side.

    In step i only the windows whose horizon is larger than i still walk. Horizons descend, and nodes and edges are in
    the order of their windows, so these are the first ones of all.

    Parameters
    ----------
    sources, targets : (E,) int64, the ends of every edge, which are of one window.
    num_nodes : N.
    node_window : (N,) int64, the window of every node, ascending.
    horizons : (B,) int64, how many steps are walked in every window, descending.

    Raises
    ------
    DataError : arrays that are not so.
    """

    sources: torch.Tensor
    targets: torch.Tensor
    num_nodes: int
    node_window: torch.Tensor
    horizons: torch.Tensor

    def __post_init__(self) -> None:
        for fault in self._faults():
            raise DataError(f"This is no graph of walks: {fault}.", "Make it by lay_side_by_side or of_one_window.")

    @classmethod
    def of_one_window(cls, sources: torch.Tensor, targets: torch.Tensor, num_nodes: int, horizon: int = 0) -> WalkGraph:
        """All edges as one window of so many steps."""
        window = torch.zeros(num_nodes, dtype=torch.int64, device=sources.device)
        return cls(sources, targets, num_nodes, window, torch.tensor([horizon], device=sources.device))

    def _faults(self):
        """What is wrong, one after the other; later ones can be looked for only where there are no earlier ones."""
        arrays = (self.sources, self.targets, self.node_window, self.horizons)
        if any(array.dtype != torch.int64 or array.dim() != 1 for array in arrays):
            yield f"its arrays must be one-dimensional of int64, and are {[(a.dtype, tuple(a.shape)) for a in arrays]}"
        if len({array.device for array in arrays}) > 1:
            yield "its arrays are on different devices"
        if len(self.sources) != len(self.targets) or len(self.node_window) != self.num_nodes:
            yield (
                f"there are {len(self.sources)} sources, {len(self.targets)} targets, and windows of "
                f"{len(self.node_window)} of {self.num_nodes} nodes"
            )
        for name, numbers, count in (
            ("sources", self.sources, self.num_nodes),
            ("targets", self.targets, self.num_nodes),
            ("node_window", self.node_window, len(self.horizons)),
        ):
            if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < count:
                yield f"{name} go from {int(numbers.min())} to {int(numbers.max())}, and there are {count}"
        if bool((self.node_window.diff() < 0).any()):
            yield "nodes are not in the order of their windows"
        if bool((self.horizons.diff() > 0).any()) or bool((self.horizons < 0).any()):
            yield f"horizons must descend and be at least 0, and are {self.horizons.tolist()[:20]}"
        edge_window = self.node_window[self.sources]
        if bool((edge_window.diff() < 0).any()):
            yield "edges are not in the order of the windows of their sources"
        if bool((edge_window != self.node_window[self.targets]).any()):
            yield "an edge leads from one window to another"

    @property
    def num_edges(self) -> int:
        return len(self.sources)

    @property
    def num_windows(self) -> int:
        return len(self.horizons)

    @functools.cached_property
    def by_sender(self) -> tuple[torch.Tensor, torch.Tensor]:
        """(first (N + 1,), edge (E,)): the out-edges of node v are edge[first[v] : first[v + 1]], ascending."""
        return starts_of(self.sources, self.num_nodes), torch.argsort(self.sources, stable=True)

    @functools.cached_property
    def continuations(self) -> tuple[torch.Tensor, torch.Tensor]:
        """(first_next (E + 1,), next (M,)): edges that may follow edge e are next[first_next[e] : first_next[e + 1]].

        f may follow e where target(e) = source(f) and not source(e) = target(f), as in
        `dgl.line_graph(graph, backtracking=False)`. So a self-loop is never followed by itself.
        """
        before, after = self.options(self.targets, self.sources)
        return starts_of(before, self.num_edges), after

    def options(self, nodes: torch.Tensor, avoid: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The out-edges of some nodes but those that lead to a node which is to be avoided.

        Parameters
        ----------
        nodes : (K,)
        avoid : (K,), −1 for none.

        Returns
        -------
        (place in `nodes`, edge), in the order of `nodes`.
        """
        first, edges = self.by_sender
        place, entry = entries_of(first, nodes)
        edge = edges[entry]
        allowed = self.targets[edge] != avoid[place]
        return place[allowed], edge[allowed]

    def moves(self, kind: str) -> Moves:
        """What a walker may do in one step of the plain or the non-backtracking ("nb") walk.

        An edge that none may follow is followed by itself: mass stays there. States are closed, with nothing at all to
        do, where a node has no out-edges.
        """
        if kind not in KINDS:
            raise unknown_name("walk", kind, KINDS)
        return self._plain_moves if kind == PLAIN else self._non_backtracking_moves

    @functools.cached_property
    def _plain_moves(self) -> Moves:
        first, edge = self.by_sender
        return Moves(first, self.sources[edge], self.targets[edge], edge, (first.diff() == 0).nonzero()[:, 0])

    @functools.cached_property
    def _non_backtracking_moves(self) -> Moves:
        first, after = self.continuations
        counts, degrees = first.diff(), self.by_sender[0].diff()
        closed = degrees[self.targets] == 0
        stuck = (counts == 0) & ~closed
        edges = torch.arange(self.num_edges, device=self.sources.device)
        origin = edges.repeat_interleave(counts + stuck)
        new_first = torch.cat([first[:1], (counts + stuck).cumsum(0)])
        to = torch.empty_like(origin)
        to[torch.arange(len(after), device=to.device) + (new_first - first)[edges.repeat_interleave(counts)]] = after
        to[new_first[:-1][stuck]] = edges[stuck]
        return Moves(new_first, origin, to, to, closed.nonzero()[:, 0])

    def walking(self, kind: str) -> list[tuple[int, int]]:
        """For every step how many states, and how many moves, are of windows that still walk; the first ones are.

        The walk that does not turn back has its first step, from nodes onto edges, behind it.
        """
        steps = self._steps(kind)
        last = int(steps[0]) if self.num_windows else 0
        windows = (steps > torch.arange(last, device=steps.device)[:, None]).sum(1)
        states = self._first_state(kind)[windows]
        return list(zip(states.tolist(), self.moves(kind).first[states].tolist(), strict=True))

    def order(self, kind: str) -> WalkOrder:
        """The moves of a walk as compiled code wants them, made once."""
        if kind not in self._orders:
            moves = self.moves(kind)
            parts = (moves.first, moves.to, moves.edge, self.num_edges, self._first_state(kind), self._steps(kind))
            self._orders[kind] = WalkOrder.checked(*parts)
        return self._orders[kind]

    @functools.cached_property
    def _orders(self) -> dict[str, WalkOrder]:
        return {}

    def _steps(self, kind: str) -> torch.Tensor:
        return self.horizons if kind == PLAIN else (self.horizons - 1).clamp(min=0)

    def _first_state(self, kind: str) -> torch.Tensor:
        """(B + 1,): the states of window w are first[w] to first[w + 1]."""
        return starts_of(self.node_window if kind == PLAIN else self.node_window[self.sources], self.num_windows)


def continuations_size(sources: torch.Tensor, targets: torch.Tensor, num_nodes: int) -> int:
    """How many continuations the edges of a graph have, Σ_v in(v)·out(v) less the pairs that would turn back.

    They are counted by degrees and by the repetitions of edges, and not made.
    """
    into = torch.bincount(targets, minlength=num_nodes)
    out = torch.bincount(sources, minlength=num_nodes)
    there, repeated = (sources * num_nodes + targets).unique(return_counts=True)
    back = there % num_nodes * num_nodes + there // num_nodes
    place = torch.searchsorted(there, back).clamp(max=max(len(there) - 1, 0))
    turning = (repeated * repeated[place])[there[place] == back] if len(there) else there
    return int((into * out).sum() - turning.sum())
