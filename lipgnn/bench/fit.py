"""The power with which a cost grows. No torch here."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from typing import NamedTuple


class Fit(NamedTuple):
    """A power law cost = c · size^exponent, with the standard error of the exponent; None from two points."""

    exponent: float
    stderr: float | None


def fit_power(sizes: Iterable[float], costs: Iterable[float]) -> Fit:
    """Least squares in the logarithms of both."""
    x, y = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    slope, intercept = statistics.linear_regression(x, y)
    if len(x) < 3:
        return Fit(slope, None)
    residual = sum((b - slope * a - intercept) ** 2 for a, b in zip(x, y, strict=True))
    centre = statistics.fmean(x)
    return Fit(slope, math.sqrt(residual / (len(x) - 2) / sum((a - centre) ** 2 for a in x)))
