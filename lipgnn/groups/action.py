"""How a finite group moves points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lipgnn.errors import UsageError
from lipgnn.groups.group import Group


@dataclass(frozen=True, eq=False)
class Action:
    """A group that moves points: h brings point p to moves[h, p].

    Attributes
    ----------
    group : what acts.
    moves : (n, P) int64, for every element a permutation of the points.

    Raises
    ------
    UsageError : the table is not that of an action: an element loses a point, the identity moves one, or g after h is
        not g·h; says for which.
    """

    group: Group
    moves: np.ndarray

    def __post_init__(self) -> None:
        for check in (_permutation_problem, _identity_problem, _product_problem):
            if problem := check(self.group, self.moves):
                raise UsageError(
                    f"Group {self.group.name!r} does not act on the points: {problem}.", "Correct the table of moves."
                )

    @property
    def points(self) -> int:
        """How many points are moved."""
        return self.moves.shape[1]

    def moved(self, values: np.ndarray, element: int) -> np.ndarray:
        """Values at the points, (P, …), after `element` moved the points: at h·p is what was at p."""
        return values[self.moves[self.group.inverses[element]]]

    def nodes(self) -> np.ndarray:
        """(n, P·n): how every element moves the pairs (p, h), g·(p, h) = (g·p, g·h); such a pair has number p·n + h."""
        size = self.group.order
        return (self.moves[:, :, None] * size + self.group.table[:, None, :]).reshape(size, -1)


def _permutation_problem(group: Group, moves: np.ndarray) -> str | None:
    if moves.ndim != 2 or len(moves) != group.order or moves.dtype.kind not in "iu" or not moves.size:
        return f"its moves are {moves.dtype} of shape {moves.shape}, not whole numbers of shape ({group.order}, points)"
    wrong = np.flatnonzero((np.sort(moves, axis=1) != np.arange(moves.shape[1])).any(axis=1))
    return f"element {wrong[0]} does not bring every point to a place of its own" if len(wrong) else None


def _identity_problem(group: Group, moves: np.ndarray) -> str | None:
    moved = np.flatnonzero(moves[group.identity] != np.arange(moves.shape[1]))
    return f"the element that changes nothing moves point {moved[0]}" if len(moved) else None


def _product_problem(group: Group, moves: np.ndarray) -> str | None:
    for g in range(group.order):
        # [h, p]: g after h on the left, g·h on the right.
        differing = np.argwhere(moves[g][moves] != moves[group.table[g]])
        if len(differing):
            return f"moves of element {g} after those of element {differing[0][0]} are not those of their product"
    return None
