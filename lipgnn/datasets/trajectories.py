"""Trajectories on a graph: what the task `paths` trains on, whoever reads or makes it.

A trajectory is a sequence of observations, an observation a sparse distribution over the nodes, and a leg the true
path, edge by edge, from one observation to the next.

Reference: Cordonnier & Loukas, "Extrapolating paths with graph neural networks", IJCAI 2019, and their code.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from lipgnn.datasets.source import Split

LOOP_FEATURE = 0.01
"""The raw value of every feature of the self-loop that a dead end gets, as in the authors' code."""


@dataclass(frozen=True, eq=False)
class PathDataset:
    """A graph and the trajectories on it, as numpy arrays.

    Attributes
    ----------
    name : as it was asked for.
    fingerprint : 16 hex digits of everything that is given, and of the split.
    split : masks over the trajectories.
    num_nodes : N.
    node_features : (N, Fn) float32, standardized by column.
    coordinates : (N, 2) float64, or None where nobody knows where the nodes lie; they are no features.
    sources, targets : (E,) int64, the ends of every edge; no node is without an outgoing one.
    edge_features : (E, Fe) float32, standardized by column.
    given_edges : how many edges are given; the others, behind them, are self-loops of the dead ends.
    observed_nodes, observed_weights : (O, k) int64 and float64; a row of weights sums to one, padding has weight 0.
    first_observation : (T + 1,) int64; trajectory t has the observations from first_observation[t] to
        first_observation[t + 1], which is not its own.
    leg_edges, first_leg_edge : (S,) and (O + 1,) int64; leg_edges[first_leg_edge[o] : first_leg_edge[o + 1]] leads from
        observation o to the next one. It is empty where o is the last of its trajectory.
    """

    name: str
    fingerprint: str
    split: Split
    num_nodes: int
    node_features: np.ndarray
    coordinates: np.ndarray | None
    sources: np.ndarray
    targets: np.ndarray
    edge_features: np.ndarray
    given_edges: int
    observed_nodes: np.ndarray
    observed_weights: np.ndarray
    first_observation: np.ndarray
    leg_edges: np.ndarray
    first_leg_edge: np.ndarray

    task = "paths"
    class_names = None

    @property
    def shape(self) -> tuple[int, int]:
        """How many features a node and an edge have."""
        return self.node_features.shape[1], self.edge_features.shape[1]

    @property
    def lengths(self) -> np.ndarray:
        """(T,) int64: how many observations every trajectory has."""
        return np.diff(self.first_observation)


def made(
    name: str,
    *,
    node_features: np.ndarray,
    edges: np.ndarray,
    edge_features: np.ndarray,
    observed_nodes: np.ndarray,
    observed_weights: np.ndarray,
    lengths: np.ndarray,
    leg_edges: np.ndarray,
    leg_lengths: np.ndarray,
    coordinates: np.ndarray | None = None,
    counted: tuple[int, int] | None = None,
) -> PathDataset:
    """The data set of raw arrays that fit together: dead ends get self-loops, features are standardized.

    Parameters
    ----------
    node_features, edges, edge_features : (N, Fn), (2, E) sources and targets, and (E, Fe), as they are given.
    lengths : (T,), how many observations every trajectory has; they follow each other in `observed_nodes`.
    observed_weights : (O, k); the weights of an observation are divided by their sum.
    leg_edges, leg_lengths : the edges of all legs, and (O − T,) how many of them each leg has, in their order.
    counted : the smallest and largest length of a trajectory that is in any part of the split; all are, if None.
    """
    num_nodes, given = len(node_features), edges.shape[1]
    split = split_in_order(lengths, counted)
    raw = (node_features, edges, edge_features, observed_nodes, observed_weights, lengths, leg_edges, leg_lengths)
    (sources, targets), edge_features = _with_loops(num_nodes, edges, edge_features)
    return PathDataset(
        name=name,
        fingerprint=_fingerprint(*raw, coordinates, *split.parts.values()),
        split=split,
        num_nodes=num_nodes,
        node_features=standardized(node_features, num_nodes),
        coordinates=coordinates,
        sources=sources,
        targets=targets,
        edge_features=standardized(edge_features, given),
        given_edges=given,
        observed_nodes=observed_nodes.astype(np.int64),
        observed_weights=observed_weights / observed_weights.sum(axis=1, keepdims=True),
        first_observation=_starts(lengths),
        leg_edges=leg_edges.astype(np.int64),
        first_leg_edge=_starts(_per_observation(lengths, leg_lengths)),
    )


def split_in_order(lengths: np.ndarray, counted: tuple[int, int] | None = None) -> Split:
    """Of V trajectories that count, in their order: the first ⌊.8 V⌋ train and the next ⌊.2 V⌋ test, as the authors do.

    So one may be left over. They validate on nothing; here the last ⌊.1 V⌋ of the training ones do that.
    """
    low, high = counted or (0, np.inf)
    valid = np.flatnonzero((lengths >= low) & (lengths <= high))
    # Whole numbers: 0.8 V in floating point may fall on either side of one.
    size = len(valid)
    first_test, tested, validated = 8 * size // 10, 2 * size // 10, size // 10
    train, val = np.split(valid[:first_test], [first_test - validated])
    return Split.of_indices(len(lengths), train, val, valid[first_test : first_test + tested])


def standardized(values: np.ndarray, given: int) -> np.ndarray:
    """Columns with mean 0 and standard deviation 1 over the first `given` rows, as float32; 0 where all are equal."""
    values = np.asarray(values, dtype=np.float64)
    known = values[:given]
    if not known.size:
        return values.astype(np.float32)
    varies = known.max(axis=0) > known.min(axis=0)
    deviation = np.where(varies, known.std(axis=0), 1.0)
    return np.where(varies, (values - known.mean(axis=0)) / deviation, 0.0).astype(np.float32)


def _with_loops(num_nodes: int, edges: np.ndarray, edge_features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges and their features, and behind them a self-loop for every node without an outgoing edge."""
    dead = np.flatnonzero(np.bincount(edges[0], minlength=num_nodes) == 0)
    loops = np.full((len(dead), edge_features.shape[1]), LOOP_FEATURE)
    ends = np.concatenate([edges, np.stack([dead, dead])], axis=1).astype(np.int64)
    return ends, np.concatenate([edge_features, loops])


def _per_observation(lengths: np.ndarray, leg_lengths: np.ndarray) -> np.ndarray:
    """(O,): the length of the leg from every observation, and 0 from the last of a trajectory."""
    goes_on = np.ones(lengths.sum(), dtype=bool)
    goes_on[np.cumsum(lengths) - 1] = False
    legs = np.zeros(len(goes_on), dtype=np.int64)
    legs[goes_on] = leg_lengths
    return legs


def _starts(lengths: np.ndarray) -> np.ndarray:
    """Where each of some pieces begins that follow each other, and where the last ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _fingerprint(*arrays: np.ndarray | None) -> str:
    """16 hex digits of arrays as they are given; what is computed from them may differ by a bit between machines."""
    digest = hashlib.sha256(b"lipgnn-paths-1")
    for array in arrays:
        if array is None:
            digest.update(b";none")
            continue
        kept = np.ascontiguousarray(array, dtype=np.int64 if array.dtype.kind in "iub" else np.float64)
        digest.update(f";{kept.dtype}{kept.shape}".encode())
        digest.update(kept.tobytes())
    return digest.hexdigest()[:16]
