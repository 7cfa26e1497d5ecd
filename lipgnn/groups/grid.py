"""Turns and mirrors of a square grid of pixels.

The plane group z2 has translations alone, mirror one axis of reflection, p4 the four turns by 90 degrees, and p4m turns
and reflections. Translations need no element: the code of a pair of pixels depends on their offset alone.
"""

from __future__ import annotations

import numpy as np

from lipgnn.catalog import SYMMETRIES, check_name
from lipgnn.errors import UsageError
from lipgnn.groups.action import Action
from lipgnn.groups.group import Group
from lipgnn.groups.product import Relation

# Of (row, column), seen from the middle of the image. The turn is that of numpy.rot90, the mirror that of numpy.fliplr.
_SAME, _TURN, _MIRROR = np.eye(2, dtype=np.int64), np.array([[0, -1], [1, 0]]), np.array([[1, 0], [0, -1]])


MOVES = {"upright": 0, "90 degrees": 1, "180 degrees": 2, "270 degrees": 3, "mirrored": 4}
"""What an image is moved by to see what a network makes of it, as elements of p4m."""


def matrices_of(name: str) -> np.ndarray:
    """(n, 2, 2): the elements of z2, mirror, p4 or p4m; of p4m, k turns have number k, behind a mirror 4 + k.

    Raises
    ------
    UsageError : there is no such group.
    """
    check_name("group", name, SYMMETRIES)
    entry = SYMMETRIES[name]
    turns = [np.linalg.matrix_power(_TURN, k) for k in range(entry.turns)]
    return np.stack([turn @ mirror for mirror in (_SAME, _MIRROR)[: 1 + entry.mirrored] for turn in turns])


def group_of(name: str) -> Group:
    """One of these groups, its table found by multiplying matrices; errors as in `matrices_of`."""
    elements = matrices_of(name)
    products = elements[:, None] @ elements  # (n, n, 2, 2)
    same = (products[:, :, None] == elements).all(axis=(-1, -2))
    return Group(name, same.argmax(axis=-1))


def words_of(name: str) -> list[str]:
    """What the elements of one of these groups do, in words."""
    entry = SYMMETRIES[name]
    return [
        ("mirrored, " if mirrored else "") + f"{360 // entry.turns * turn} degrees"
        for mirrored in range(1 + entry.mirrored)
        for turn in range(entry.turns)
    ]


def follow(name: str, move: int) -> tuple[np.ndarray, bool]:
    """To which element every element h of a group goes where an element g of p4m moves the image, and if g is in it.

    That is g·h for a g of the group; else g·h·g⁻¹ where these are in the group, and h itself where they are not.
    """
    elements, g = matrices_of(name), matrices_of("p4m")[move]

    def numbers(moved: np.ndarray) -> np.ndarray | None:
        same = (moved[:, None] == elements).all(axis=(-1, -2))
        return same.argmax(axis=1) if same.any(axis=1).all() else None

    if (multiplied := numbers(g @ elements)) is not None:
        return multiplied, True
    conjugated = numbers(g @ elements @ g.T)
    return (np.arange(len(elements)) if conjugated is None else conjugated), False


def act_on_grid(name: str, side: int) -> Action:
    """How one of these groups moves the pixels of a square image; pixel (row, column) has number row·side + column."""
    # Twice the distance from the middle: whole numbers for even sides as well.
    places = 2 * np.indices((side, side)).reshape(2, -1) - (side - 1)
    rows, columns = np.moveaxis((matrices_of(name) @ places + (side - 1)) // 2, 1, 0)
    return Action(group_of(name), rows * side + columns)


def check_reach(side: int, reach: int) -> None:
    """Refuse to look further than an image goes.

    Raises
    ------
    UsageError : the reach is larger than the image.
    """
    if reach >= side:
        raise UsageError(
            f"--reach {reach} is larger than an image of {side} × {side} pixels, in which no two are so far apart.",
            f"Use --reach {side - 1} or less.",
        )


def offsets_on_grid(side: int, reach: int) -> Relation:
    """All pairs of pixels (j, i) with |x_j − x_i| ≤ reach in rows and in columns, each with the number of x_j − x_i.

    Offset (row, column) has number (row + reach)·(2·reach + 1) + column + reach.

    Raises
    ------
    UsageError : the reach is larger than the image.
    """
    check_reach(side, reach)
    place = np.stack(np.indices((side, side)).reshape(2, -1))  # (2, P)
    steps = np.indices((2 * reach + 1, 2 * reach + 1)).reshape(2, -1) - reach  # (2, O)
    seen = place[:, :, None] + steps[:, None, :]  # (2, P, O)
    inside = ((seen >= 0) & (seen < side)).all(axis=0)
    targets, labels = inside.nonzero()
    return Relation((seen[0] * side + seen[1])[inside], targets, labels)
