"""Walks on generated roads: `planar`, points of a square joined to their neighbours, and `mesh`, a grid with diagonals.

planar has N uniform points of the unit square and the edges of their Delaunay triangulation that are shorter than
4 / √N (.2 for 400 points), in both directions; mesh has ⌊√N⌋² points and, of each, edges to its up to eight neighbours.

A walker starts at a random node with a random heading. At every step it takes the neighbour with the largest sum of the
cosine between its direction and the heading and a normal deviation of .1; it stops where even that is below .3. Every
second node of its walk is observed: a place near it, by a normal deviation of .1 / √N (.005), as its five nearest
nodes, weighted by inverse distance. Walks of 7 to 12 observations are kept, longer ones up to the twelfth; there are
400. The one feature of an edge is its length; nodes have none, and their places are known.

Reference: Cordonnier & Loukas, "Extrapolating paths with graph neural networks", IJCAI 2019, and their code. Seeds and
so the points are not theirs.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
from scipy.spatial import Delaunay, cKDTree

from lipgnn.datasets.generated.minesweeper import grid_edges
from lipgnn.datasets.trajectories import PathDataset, made
from lipgnn.datasets.windows import ranges
from lipgnn.errors import UsageError

KINDS = ("planar", "mesh")
SIZES = range(200, 100001)
POINTS = 400
TRAJECTORIES = 400
FEWEST, MOST = 7, 12
STRIDE = 2
DEVIATION, TOO_FAR_OFF = 0.1, 0.3
FARTHEST, JITTER = 4.0, 0.1
"""In units of the distance 1 / √N between neighbours."""

NEAREST = 5
SEED = 2019

_NAME = re.compile(rf"({'|'.join(KINDS)})(?::(\d{{1,9}}))?", re.ASCII)
_STEPS = STRIDE * (MOST - 1)
_MOST_TURNS = 100


@dataclass(frozen=True, eq=False)
class Roads:
    """Places of the nodes (N, 2), edges (2, E) in the order of their sources, and about how far a neighbour is."""

    places: np.ndarray
    edges: np.ndarray
    spacing: float

    @property
    def steps(self) -> np.ndarray:
        """(E, 2), from the source of every edge to its target."""
        return self.places[self.edges[1]] - self.places[self.edges[0]]


def load_roads(name: str) -> PathDataset:
    """Make the walks called `planar[:N]` or `mesh[:N]`; every call and every machine makes the same.

    Raises
    ------
    UsageError : another form, or a number of nodes outside of SIZES.
    """
    match = _NAME.fullmatch(name)
    kind, size = (match[1], int(match[2] or POINTS)) if match else (None, None)
    if size not in SIZES:
        forms = " or ".join(f"{kind}:N" for kind in KINDS)
        raise UsageError(
            f"{name!r} asks for {size} nodes." if match else f"{name!r} is no data set of roads.",
            f"Write {forms} with N from {SIZES[0]} to {SIZES[-1]}, or the name alone for {POINTS} nodes.",
        )
    # RandomState's stream is frozen by numpy's compatibility policy; default_rng's may change between versions.
    draw = np.random.RandomState(SEED)
    roads = (planar if kind == "planar" else mesh)(size, draw)
    walks = _walks(roads, draw)
    lengths = (walks >= 0).sum(axis=1) // STRIDE + 1
    taken = walks[np.arange(_STEPS) < STRIDE * (lengths - 1)[:, None]]
    passed = np.concatenate([roads.edges[0, walks[:, :1]], np.where(walks < 0, -1, roads.edges[1, walks])], axis=1)
    seen = passed[:, ::STRIDE][np.arange(MOST) < lengths[:, None]]
    observed_nodes, observed_weights = _observe(roads, seen, draw)
    return made(
        name,
        node_features=np.zeros((len(roads.places), 0)),
        edges=roads.edges,
        edge_features=_lengths(roads.steps)[:, None],
        observed_nodes=observed_nodes,
        observed_weights=observed_weights,
        lengths=lengths,
        leg_edges=taken,
        leg_lengths=np.full((lengths - 1).sum(), STRIDE),
        coordinates=roads.places,
    )


def planar(size: int, draw: np.random.RandomState) -> Roads:
    """The short edges between neighbours of uniform points."""
    places, spacing = draw.random_sample((size, 2)), size**-0.5
    corners = Delaunay(places).simplices
    pairs = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    short = _lengths(places[pairs[:, 0]] - places[pairs[:, 1]]) < FARTHEST * spacing
    return Roads(places, _both_ways(pairs[short].T, size), spacing)


def mesh(size: int, draw: np.random.RandomState) -> Roads:
    """The largest square grid of up to `size` points; nothing is drawn."""
    side = math.isqrt(size)
    rows, columns = np.divmod(np.arange(side * side), side)
    places = np.stack([columns, rows], axis=1) / (side - 1)
    return Roads(places, _both_ways(grid_edges(side), side * side), 1 / (side - 1))


def _both_ways(pairs: np.ndarray, num_nodes: int) -> np.ndarray:
    """Each pair once in both directions, in the order of sources and targets; (2, E) int64."""
    sources, targets = np.concatenate([pairs, pairs[::-1]], axis=1).astype(np.int64)
    return np.stack(np.divmod(np.unique(sources * num_nodes + targets), num_nodes))


def _lengths(steps: np.ndarray) -> np.ndarray:
    """Rounded, here and below, so that the last bit of a machine does not make another data set."""
    return np.hypot(*steps.T).round(6)


def _walks(roads: Roads, draw: np.random.RandomState) -> np.ndarray:
    """(TRAJECTORIES, _STEPS) int64: the edges of every walk that is long enough, and −1 behind its end.

    Raises
    ------
    RuntimeError : hardly any walk is, so that the roads are too few.
    """
    degrees = np.bincount(roads.edges[0], minlength=len(roads.places))
    out_edges = np.full((len(degrees), degrees.max()), -1)
    out_edges[roads.edges[0], ranges(degrees)] = np.arange(roads.edges.shape[1])
    directions = roads.steps / np.hypot(*roads.steps.T)[:, None]
    found = np.zeros((0, _STEPS), dtype=np.int64)
    for _ in range(_MOST_TURNS):
        walks = _go(roads, out_edges, directions, draw)
        long_enough = (walks >= 0).sum(axis=1) >= STRIDE * (FEWEST - 1)
        found = np.concatenate([found, walks[long_enough]])[:TRAJECTORIES]
        if len(found) == TRAJECTORIES:
            return found
    raise RuntimeError(f"{len(found)} walks on {len(degrees)} nodes are long enough")


def _go(roads: Roads, out_edges: np.ndarray, directions: np.ndarray, draw: np.random.RandomState) -> np.ndarray:
    """As many walks at once, step by step; (TRAJECTORIES, _STEPS), long enough or not."""
    node = draw.randint(len(roads.places), size=TRAJECTORIES)
    angle = draw.random_sample(TRAJECTORIES) * 2 * np.pi
    heading = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    walks, going = np.full((TRAJECTORIES, _STEPS), -1), np.ones(TRAJECTORIES, dtype=bool)
    for step in range(_STEPS):
        choices = out_edges[node]
        liking = np.einsum("wcd,wd->wc", directions[choices], heading) + DEVIATION * draw.standard_normal(choices.shape)
        liking[choices < 0] = -np.inf
        best = liking.argmax(axis=1)[:, None]
        going &= np.take_along_axis(liking, best, axis=1)[:, 0] >= TOO_FAR_OFF
        edge = np.take_along_axis(choices, best, axis=1)[:, 0]
        walks[going, step] = edge[going]
        node = np.where(going, roads.edges[1, edge], node)
    return walks


def _observe(roads: Roads, nodes: np.ndarray, draw: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """(O, NEAREST) nodes around a place near each of some nodes, and their weights."""
    places = roads.places[nodes] + JITTER * roads.spacing * draw.standard_normal((len(nodes), 2))
    distances, around = cKDTree(roads.places).query(places, k=NEAREST)
    weights = 1 / np.maximum(distances, 1e-6)
    return around, (weights / weights.sum(axis=1, keepdims=True)).round(6)
