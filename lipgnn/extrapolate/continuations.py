"""Paths whose likelihood is asked for, given by their nodes; edges between the same two nodes count together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lipgnn.datasets.limits import read_text
from lipgnn.datasets.source import damaged
from lipgnn.datasets.trajectories import PathDataset
from lipgnn.datasets.windows import ranges

_LINE = re.compile(r"\d{1,18}([,\t]\d{1,18})*", re.ASCII)
_SHOWN = 60


class Decisions(NamedTuple):
    """The edges that may have been taken, step by step.

    Attributes
    ----------
    edge, previous : (D,) int64, an edge, and one that was taken before it; −1 at the first step of a path.
    step : (D,) int64, the step of each; it may have several edges, between the same nodes.
    path : (S,) int64, the path of every step.
    """

    edge: np.ndarray
    previous: np.ndarray
    step: np.ndarray
    path: np.ndarray


@dataclass(frozen=True, eq=False)
class Continuations:
    """Paths as sequences of nodes, each from where it starts.

    Attributes
    ----------
    first, nodes : (C + 1,) and (M,) int64; path c has nodes[first[c] : first[c + 1]], one at least.
    decisions : the same as edges. A step from a node to itself where no edge leads is a walker that stays, as one does
        that must not turn back where nothing else is left.
    """

    first: np.ndarray
    nodes: np.ndarray
    decisions: Decisions

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def sequences(self) -> list[list[int]]:
        """The nodes of every path."""
        return [part.tolist() for part in np.split(self.nodes, self.first[1:-1])]


def read_continuations(path: Path, dataset: PathDataset) -> Continuations:
    """Read a file with a path on every line: its nodes between tabs or commas, first the one it starts at.

    Raises
    ------
    DataError : it cannot be read, or a line is no path of the graph; the message names file and line.
    """
    text = read_text(path).replace("\r\n", "\n").removesuffix("\n")
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if not _LINE.fullmatch(line):
            reason = f"{line[:_SHOWN]!r} is not a list of nodes between tabs or commas" if line else "it has no node"
            raise damaged(path, f"line {number}: {reason}")
    paths = [[int(word) for word in re.split("[,\t]", line)] for line in lines]
    for number, nodes in enumerate(paths, start=1):
        if (largest := max(nodes)) >= dataset.num_nodes:
            raise damaged(path, f"line {number}: node {largest} is none of 0 to {dataset.num_nodes - 1}")
    made = continuations_of(paths, dataset)
    if isinstance(made, Continuations):
        return made
    line, tail, head = made
    raise damaged(path, f"line {line + 1}: no edge leads from node {tail} to node {head}")


def continuations_of(paths: list[list[int]], dataset: PathDataset) -> Continuations | tuple[int, int, int]:
    """Paths of nodes of a data set, or else the first step that there is not: its path, and the two nodes."""
    lengths = np.array([len(nodes) for nodes in paths], dtype=np.int64)
    nodes = np.concatenate([np.array(one, dtype=np.int64) for one in paths])
    first = np.concatenate([[0], np.cumsum(lengths)])
    path = np.repeat(np.arange(len(paths)), lengths - 1)
    place = first[path] + ranges(lengths - 1)
    tails, heads = nodes[place], nodes[place + 1]
    order = np.argsort(dataset.sources * dataset.num_nodes + dataset.targets, kind="stable")
    keys = (dataset.sources * dataset.num_nodes + dataset.targets)[order]
    low = np.searchsorted(keys, tails * dataset.num_nodes + heads)
    counts = np.searchsorted(keys, tails * dataset.num_nodes + heads, side="right") - low
    # One edge for every step: the first that leads there or, of a walker that stays, the one before.
    there = np.maximum.accumulate(np.where(counts > 0, np.arange(len(path)), -1))
    begins = np.concatenate([[True], path[1:] != path[:-1]])[: len(path)]
    began = np.maximum.accumulate(np.where(begins, np.arange(len(path)), 0))
    missing = (counts == 0) & ((tails != heads) | (there < began))
    if missing.any():
        wrong = int(missing.argmax())
        return int(path[wrong]), int(tails[wrong]), int(heads[wrong])
    taken = order[low[there]]
    previous = np.where(begins, -1, np.roll(taken, 1))
    step = np.repeat(np.arange(len(path)), np.maximum(counts, 1))
    parallel = order[np.minimum(low[step] + ranges(np.maximum(counts, 1)), len(order) - 1)]
    edge = np.where(counts[step] > 0, parallel, taken[step])
    return Continuations(first, nodes, Decisions(edge, previous[step], step, path))


def decisions_along(edges: np.ndarray) -> Decisions:
    """Those of one path that is given by its edges."""
    steps = np.arange(len(edges))
    previous = np.concatenate([[-1], edges[:-1]])[: len(edges)]
    return Decisions(edges, previous, steps, np.zeros(len(edges), dtype=np.int64))
