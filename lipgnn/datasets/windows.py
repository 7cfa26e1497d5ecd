"""Windows: what is to be predicted of trajectories, each from some of its observations.

Of N consecutive observations the last is the start; the target is, by what is predicted,

    next             the observation behind the start; T − N windows of a trajectory of T observations
    destination      the last observation of the trajectory; T − N windows
    start-to-target  the same, of the first window alone
    between          of N + 1 consecutive observations each but the first in its turn, seen from the N others; the start
                     is the one just before it; (T − N) · N windows

Reference: Cordonnier & Loukas, "Extrapolating paths with graph neural networks", IJCAI 2019, and their code, where
`between` is called interpolation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lipgnn.catalog import PREDICTIONS, check_name
from lipgnn.datasets.hops import count_hops
from lipgnn.datasets.trajectories import PathDataset


@dataclass(frozen=True, eq=False)
class Windows:
    """W windows, in the order of their trajectories and of their observations in these.

    Attributes
    ----------
    trajectory : (W,) int64, of which they are.
    observations : (W, N) int64, those that are shown.
    start, target : (W,) int64, observations.
    first_edge, edges : (W + 1,) and (S,) int64; edges[first_edge[w] : first_edge[w + 1]] is the true path of window w.
    """

    trajectory: np.ndarray
    observations: np.ndarray
    start: np.ndarray
    target: np.ndarray
    first_edge: np.ndarray
    edges: np.ndarray

    @property
    def horizon(self) -> np.ndarray:
        """(W,) int64: how many edges the true path has."""
        return np.diff(self.first_edge)

    def __len__(self) -> int:
        return len(self.trajectory)


def windows_of(dataset: PathDataset, observed: int, predict: str) -> Windows:
    """All windows of all trajectories; those with no more than `observed` observations have none.

    Parameters
    ----------
    observed : N, how many observations are shown, at least 1.
    predict : one of `lipgnn.catalog.PREDICTIONS`.

    Raises
    ------
    UsageError : it is none of them.
    """
    check_name("prediction", predict, PREDICTIONS)
    lengths = dataset.lengths
    places = np.maximum(lengths - observed, 0)
    if predict == "start-to-target":
        places = np.minimum(places, 1)
    trajectory = np.repeat(np.arange(len(lengths)), places)
    first = dataset.first_observation[trajectory] + ranges(places)
    if predict == "between":
        hidden = np.tile(np.arange(1, observed + 1), len(first))
        trajectory, first = np.repeat(trajectory, observed), np.repeat(first, observed)
        # The others: the columns 0..N−1, of which those from the hidden one on stand one further.
        columns = np.arange(observed)
        shown = first[:, None] + columns + (columns >= hidden[:, None])
        start, target = first + hidden - 1, first + hidden
    else:
        shown = first[:, None] + np.arange(observed)
        start = first + observed - 1
        target = start + 1 if predict == "next" else dataset.first_observation[trajectory + 1] - 1
    first_edge, edges = _paths(dataset, start, target)
    return Windows(trajectory, shown, start, target, first_edge, edges)


def shortest_horizons(dataset: PathDataset, windows: Windows, factor: float) -> np.ndarray:
    """(W,) int64: ⌊factor · d⌋, at least 1, where d is the fewest edges from start to target, not those of the path.

    Start and target are the most probable nodes of their observations, of several the first. Where no path leads from
    one to the other, as from the wrong side of a road, the edges count in both directions; where there is none even
    so, the horizon is 1.
    """
    likeliest = dataset.observed_weights.argmax(axis=1)
    nodes = dataset.observed_nodes[np.arange(len(likeliest)), likeliest]
    starts, targets = nodes[windows.start], nodes[windows.target]
    ends = np.stack([dataset.sources, dataset.targets])
    hops = count_hops(ends, dataset.num_nodes, starts, targets)
    if (lost := hops < 0).any():
        both = np.concatenate([ends, ends[::-1]], axis=1)
        hops[lost] = count_hops(both, dataset.num_nodes, starts[lost], targets[lost])
    # A hair more: 1.15 · 20 is 23, and a little less in floating point.
    return np.maximum(np.floor(factor * hops + 1e-9), 1).astype(np.int64)


def ranges(lengths: np.ndarray) -> np.ndarray:
    """0..n−1 for every n of some lengths, one behind the other."""
    starts = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) - np.repeat(starts, lengths)


def joints(sources: np.ndarray, targets: np.ndarray, leg_edges: np.ndarray, first_leg_edge: np.ndarray) -> np.ndarray:
    """Where each leg is left for the next one, as a place in `leg_edges`; −1 where the two do not meet.

    A leg goes on where the one before ended, or it starts with an edge of the one before: where an observation lies on
    an edge, that is the last edge of the one leg and the first of the next. The path over both leaves the former
    just before the last time that it takes this edge.

    Returns
    -------
    (O,) int64, from first_leg_edge[o] up to first_leg_edge[o + 1], which is the end of the leg; also where no leg
        follows.
    """
    ends = first_leg_edge[1:].copy()
    lengths = np.diff(first_leg_edge)
    joined = np.flatnonzero((lengths[:-1] > 0) & (lengths[1:] > 0))
    following = np.full(len(lengths), -1)
    following[joined] = leg_edges[ends[joined]]
    torn = joined[targets[leg_edges[ends[joined] - 1]] != sources[following[joined]]]
    ends[torn] = -1
    leg = np.repeat(np.arange(len(lengths)), lengths)
    same = np.flatnonzero((leg_edges == following[leg]) & (ends[leg] < 0))
    np.maximum.at(ends, leg[same], same)
    return ends


def _paths(dataset: PathDataset, start: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The true edges from one observation of a trajectory to a later one, (W + 1,) and (S,): their legs, joined."""
    first = dataset.first_leg_edge
    left = joints(dataset.sources, dataset.targets, dataset.leg_edges, first)
    kept = np.arange(len(dataset.leg_edges)) < np.repeat(left, np.diff(first))
    lengths = first[target] - first[start]
    places = np.repeat(first[start], lengths) + ranges(lengths)
    # The last leg of a window is taken whole, the others up to where the next is joined to them.
    taken = kept[places] | (places >= np.repeat(first[target - 1], lengths))
    window = np.repeat(np.arange(len(start)), lengths)[taken]
    counts = np.bincount(window, minlength=len(start))
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), dataset.leg_edges[places[taken]]
