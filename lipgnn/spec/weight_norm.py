"""Weight norms by name: `cap:C` and `fix:C`; no torch here."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lipgnn.catalog import NO_NORM
from lipgnn.errors import UsageError, did_you_mean


@dataclass(frozen=True)
class WeightNorm:
    """A bound on the largest singular value of every linear map of a layer.

    Attributes
    ----------
    fixed : the value is the bound ("fix") instead of at most the bound ("cap").
    number : the bound, or that times the depth.
    over_layers : whether it is divided by the number of layers.
    """

    fixed: bool
    number: float
    over_layers: bool

    def limit(self, layers: int) -> float:
        """The bound in a network of so many layers."""
        return self.number / layers if self.over_layers else self.number

    def __str__(self) -> str:
        return f"{'fix' if self.fixed else 'cap'}:{self.number:g}{'/L' if self.over_layers else ''}"


def parse_weight_norm(text: str) -> WeightNorm | None:
    """`cap:C` or `fix:C` with C a number or, as in `4/L`, a number over the depth; None for `none`.

    Raises
    ------
    UsageError : anything else, or a number that is not positive.
    """
    if text == NO_NORM:
        return None
    kind, _, bound = text.partition(":")
    digits, over, rest = bound.partition("/")
    try:
        number = float(digits)
    except ValueError:
        number = math.nan
    if kind not in ("cap", "fix") or (over and rest != "L") or not 0 < number < math.inf:
        raise UsageError(
            f"weight_norm must be none, cap:C or fix:C with a positive C, got {text!r}.",
            f"{did_you_mean(kind, (NO_NORM, 'cap', 'fix'))}"
            "C is a number or, to shrink with depth, one over L: for instance fix:4/L.",
        )
    return WeightNorm(kind == "fix", number, bool(over))
