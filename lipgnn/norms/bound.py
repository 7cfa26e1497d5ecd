"""How much a part of a network can stretch a change of its input, or why nobody knows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """A Lipschitz constant of a part of a network, in the Frobenius norm over all nodes and in evaluation mode.

    Attributes
    ----------
    value : the constant; infinite where none is known.
    reason : why none is known; None where one is.
    """

    value: float
    reason: str | None = None

    @classmethod
    def unknown(cls, reason: str) -> Bound:
        """No constant is known, for this reason."""
        return cls(math.inf, reason)


def product(bounds: Iterable[Bound]) -> Bound:
    """The bound of parts that act one after the other; unknown where one of them is, for the first reason there is."""
    bounds = list(bounds)
    reason = next((bound.reason for bound in bounds if bound.reason), None)
    return Bound.unknown(reason) if reason else Bound(math.prod(bound.value for bound in bounds))
