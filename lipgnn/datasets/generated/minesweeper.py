"""Minesweeper at any size, the same in distribution as the published set of Platonov et al. 2023.

A grid of n × n cells, each joined to its up to eight neighbours. A fifth of the cells are mines: these are to be found.
Half of the cells are unknown, mines or not, and have feature 0 alone. Of any other cell, feature 1 + min(c, 5) says
that c of its neighbours are mines. Ten splits take half of the mines and half of the other cells for training, and a
quarter each for validation and test.

Reference: Platonov, Kuznedelev, Diskin, Babenko & Prokhorenkova, "A critical look at the evaluation of GNNs under
heterophily: are we really making progress?", ICLR 2023; the numbers were read off their file, whose n is 100.
"""

from __future__ import annotations

import re

import numpy as np

from lipgnn.datasets.source import Source, Split
from lipgnn.errors import UsageError

MINES, UNKNOWN_CELLS = 0.2, 0.5
MOST_TOLD = 5
NUM_SPLITS = 10
SIZES = range(5, 1001)

_NAME = re.compile(r"minesweeper:(\d{1,9})(?::(\d{1,9}))?", re.ASCII)
# To the right, and to the three cells of the next row: every pair once.
_STEPS = ((0, 1), (1, -1), (1, 0), (1, 1))


def generate(name: str) -> Source:
    """The grid called `minesweeper:SIZE` or `minesweeper:SIZE:SEED`, of seed 0 where none is named.

    Every call and every machine gives the same one.

    Raises
    ------
    UsageError : another form, or a size outside 5..1000.
    """
    match = _NAME.fullmatch(name)
    if not match or int(match[1]) not in SIZES:
        raise UsageError(
            f"{name!r} asks for a grid of size {int(match[1])}." if match else f"{name!r} is no grid of minesweeper.",
            f"Write minesweeper:SIZE or minesweeper:SIZE:SEED with SIZE from {SIZES[0]} to {SIZES[-1]}, or minesweeper "
            "alone for the published one.",
        )
    size, cells = int(match[1]), int(match[1]) ** 2
    # RandomState's stream is frozen by numpy's compatibility policy; default_rng's may change between versions.
    draw = np.random.RandomState(int(match[2] or 0))
    labels = np.zeros(cells, dtype=np.int64)
    labels[draw.permutation(cells)[: round(MINES * cells)]] = 1
    unknown = draw.permutation(cells)[: round(UNKNOWN_CELLS * cells)]
    edges = grid_edges(size)
    return Source(
        name=name,
        edges=edges,
        directed=False,
        features=_features(edges, labels, unknown),
        labels=labels,
        splits={str(k): _split(labels, draw) for k in range(NUM_SPLITS)},
        origin=name,
    )


def grid_edges(size: int) -> np.ndarray:
    """Every pair of cells that touch, once; (2, E). Cell r · size + c is in row r and column c."""
    rows, columns = np.divmod(np.arange(size * size), size)
    pairs = []
    for down, right in _STEPS:
        inside = (rows + down < size) & (columns + right >= 0) & (columns + right < size)
        first = np.flatnonzero(inside)
        pairs.append(np.stack([first, first + down * size + right]))
    return np.concatenate(pairs, axis=1)


def _features(edges: np.ndarray, labels: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """One-hot rows, (N, MOST_TOLD + 2)."""
    mines_around = sum(
        np.bincount(ends, weights=labels[others], minlength=len(labels)) for ends, others in (edges, edges[::-1])
    )
    told = 1 + np.minimum(mines_around, MOST_TOLD).astype(np.int64)
    told[unknown] = 0
    return np.eye(MOST_TOLD + 2, dtype=np.float32)[told]


def _split(labels: np.ndarray, draw: np.random.RandomState) -> Split:
    parts: tuple[list[np.ndarray], ...] = ([], [], [])
    for label in (0, 1):
        cells = draw.permutation(np.flatnonzero(labels == label))
        half, quarter = len(cells) // 2, len(cells) // 4
        for part, chosen in zip(parts, np.split(cells, [half, half + quarter]), strict=True):
            part.append(chosen)
    return Split.of_indices(len(labels), *map(np.concatenate, parts))
