"""What is sent of a gradient, by name: `topk:R`, `randk:R`, `qsgd:BITS`, `fp16` and `powersgd:RANK`; no torch here."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lipgnn.errors import UsageError, did_you_mean
from lipgnn.spec.options import digits

NO_COMPRESSION = "none"
TOP_K, RANDOM_K, QSGD, HALF, POWER_SGD = "topk", "randk", "qsgd", "fp16", "powersgd"
SPARSE = (TOP_K, RANDOM_K)
"""Those that send some coordinates as they are and keep the others."""

_MOST_BITS = 14
_MOST = 2**31
# Of a share times a size, what is rounding and no further coordinate.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Compression:
    """A way to send less than a gradient.

    Attributes
    ----------
    kind : "topk", "randk", "qsgd", "fp16" or "powersgd".
    number : R, the bits, or the rank; 0 for fp16.
    """

    kind: str
    number: float

    def __str__(self) -> str:
        return self.kind if self.kind == HALF else f"{self.kind}:{digits(self.number)}"

    @property
    def sparse(self) -> bool:
        """Whether some coordinates are sent as they are, and the others can be kept in memory."""
        return self.kind in SPARSE

    @property
    def is_own(self) -> bool:
        """Whether `lipgnn.training.gradients` does it; the others are torch's own."""
        return self.kind in (*SPARSE, QSGD)

    def count(self, size: int) -> int:
        """k, the coordinates that are sent of `size`: R of them, or below 1 the share R, rounded up.

        All are sent where nothing is left out.
        """
        if not self.sparse:
            return size
        wanted = self.number if self.number >= 1 else math.ceil(self.number * size - _ROUNDING)
        return min(size, max(1, int(wanted)))


def parse_compress(text: str) -> Compression | None:
    """The compression of that name; None for `none`.

    Raises
    ------
    UsageError : anything else, or a number outside its limits.
    """
    if text == NO_COMPRESSION:
        return None
    kind, colon, rest = text.partition(":")
    if text == HALF:
        return Compression(HALF, 0)
    try:
        number = float(rest)
    except ValueError:
        number = math.nan
    whole = number.is_integer() and 1 <= number < _MOST
    fits = {
        TOP_K: whole or 0 < number < 1,
        RANDOM_K: whole or 0 < number < 1,
        QSGD: whole and number <= _MOST_BITS,
        POWER_SGD: whole,
    }
    if not colon or not fits.get(kind, False):
        raise UsageError(
            f"compress must be none, fp16, topk:R, randk:R, qsgd:BITS or powersgd:RANK, got {text!r}.",
            f"{did_you_mean(kind, (NO_COMPRESSION, HALF, *fits))}R is a share below 1 or a whole number of coordinates"
            f", BITS is 1 to {_MOST_BITS}, RANK is 1 or more: for instance topk:0.01.",
        )
    return Compression(kind, number)
