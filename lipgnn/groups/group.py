"""A finite group, told by its multiplication table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lipgnn.errors import UsageError


@dataclass(frozen=True, eq=False)
class Group:
    """A finite group: the element g·h has the number table[g, h].

    Attributes
    ----------
    name : what it is called, for messages.
    table : (n, n) int64.

    Raises
    ------
    UsageError : the table is not that of a group; says which of the laws fails, and for which elements.
    """

    name: str
    table: np.ndarray

    def __post_init__(self) -> None:
        for check in (_closure_problem, _identity_problem, _inverse_problem, _associativity_problem):
            if problem := check(self.table):
                raise UsageError(f"{self.name!r} is no group: {problem}.", "Correct its multiplication table.")

    @property
    def order(self) -> int:
        """How many elements there are."""
        return len(self.table)

    @cached_property
    def identity(self) -> int:
        """The number of the element that changes nothing."""
        return _identity_of(self.table)

    @cached_property
    def inverses(self) -> np.ndarray:
        """(n,): the number of h⁻¹ for every h."""
        return (self.table == self.identity).argmax(axis=1)

    @cached_property
    def quotients(self) -> np.ndarray:
        """(n, n): the number of g⁻¹·h for every g and h; multiplying both from the left does not change it."""
        return self.table[self.inverses]


def _closure_problem(table: np.ndarray) -> str | None:
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not table.size or table.dtype.kind not in "iu":
        return f"its table is {table.dtype} of shape {table.shape}, not whole numbers in a square"
    if table.min() < 0 or table.max() >= len(table):
        return f"a product is {table.min() if table.min() < 0 else table.max()}, outside 0..{len(table) - 1}"
    return None


def _identity_problem(table: np.ndarray) -> str | None:
    return "no element changes nothing" if _identity_of(table) is None else None


def _inverse_problem(table: np.ndarray) -> str | None:
    undone = table == _identity_of(table)
    without = np.flatnonzero(~(undone & undone.T).any(axis=1))
    return f"element {without[0]} has no inverse" if len(without) else None


def _associativity_problem(table: np.ndarray) -> str | None:
    # [g, h, k]: (g·h)·k on the left and g·(h·k) on the right.
    differing = np.argwhere(table[table] != table[:, table])
    if not len(differing):
        return None
    g, h, k = differing[0]
    return f"({g}·{h})·{k} is not {g}·({h}·{k})"


def _identity_of(table: np.ndarray) -> int | None:
    numbers = np.arange(len(table))
    found = np.flatnonzero((table == numbers).all(axis=1) & (table == numbers[:, None]).all(axis=0))
    return int(found[0]) if len(found) else None
