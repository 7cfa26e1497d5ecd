"""The power with which a cost grows, wherever three measurements or more differ in size alone. No torch here."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from lipgnn.bench.measurements import Measurement

# What may grow, and the fields that then grow together; the first of them is the size that the power is of.
AXES = {
    "nodes": ("nodes",),
    "edges": ("edges",),
    "size": ("edges", "nodes"),
    "heads": ("heads",),
    "width": ("width",),
    "layers": ("layers",),
}
_PLACE = ("what", "norm", "nodes", "edges", "heads", "width", "layers")
_FEWEST = 3


class Fit(NamedTuple):
    """A power law cost = c · size^exponent, with the standard error of the exponent."""

    exponent: float
    stderr: float


def fit_power(sizes: Iterable[float], costs: Iterable[float]) -> Fit:
    """Least squares in the logarithms of both; takes three points or more."""
    x, y = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    slope, intercept = statistics.linear_regression(x, y)
    residual = sum((b - slope * a - intercept) ** 2 for a, b in zip(x, y, strict=True))
    center = statistics.fmean(x)
    return Fit(slope, math.sqrt(residual / (len(x) - 2) / sum((a - center) ** 2 for a in x)))


def growth(measurements: Iterable[Measurement]) -> Iterator[Measurement]:
    """The power that fits the medians of whatever was timed at three sizes or more, all else equal."""
    timed = [each for each in measurements if each.ms is not None]
    for axis, varied in AXES.items():
        place = attrgetter(*(name for name in _PLACE if name not in varied))
        alike: dict[tuple, list[Measurement]] = {}
        for each in timed:
            alike.setdefault(place(each), []).append(each)
        for points in alike.values():
            if all(len({getattr(point, name) for point in points}) == len(points) >= _FEWEST for name in varied):
                fit = fit_power([getattr(point, varied[0]) for point in points], [point.ms for point in points])
                nothing = dict.fromkeys((*varied, "ms", "low", "high", "peak_mb"))
                yield replace(points[0], **nothing, against=axis, exponent=fit.exponent, stderr=fit.stderr)
