"""The data of figures of similarity: layer by layer from the start of training to its end, and against accuracy."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lipgnn.report.figures.gradients import first_layer, logarithms_of, recorded_logarithms
from lipgnn.report.figures.series import Panel, Point, Series, drawable, labels
from lipgnn.report.table.cells import Cell, Table
from lipgnn.report.table.statistics import mean
from lipgnn.report.table.values import GROWTH
from lipgnn.results.rows import Results, Row

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Course(Point):
    """What became of a recorded number of layer `x` during training, in decimal logarithms, means over `n` runs.

    At the end it is `y`; NaN where a run has zero there, or a number that is not finite.

    Attributes
    ----------
    start : before the first step, or in the first epoch where nothing was recorded before it.
    low, high : the least and the greatest of all epochs.
    """

    start: float = math.nan
    low: float = math.nan
    high: float = math.nan


def profile_panels(table: Table, results: Results, value: str) -> list[Panel]:
    """A recorded number by layer: a panel for every column of the table, in it a series for every row.

    The end is that of what is recorded: of a run that diverged the epoch before, of published recordings, which may
    have every k-th epoch alone, the last of these.

    Parameters
    ----------
    value : a name among those of `lipgnn.results.recordings.RECORDS`.

    Raises
    ------
    UsageError : a run has not recorded it.
    """
    rows, cols = labels(table.layout.rows, table.row_keys), labels(table.layout.cols, table.col_keys)
    panels = []
    for col in table.col_keys:
        cells = [(row, table.cells[row, col]) for row in table.row_keys if (row, col) in table.cells]
        series = [Series(rows[row], _courses(cell, results, value)) for row, cell in cells]
        panels.append(Panel(cols[col], [one for one in series if one.points]))
    return drawable(panels)


def scatter_panels(table: Table, results: Results) -> list[Panel]:
    """Runs as dots, at the end of training: the value of the table against μ of the output X⁽ᴸ⁾ and against μ of the
    gradient G⁽⁰⁾ at the first layer's input, and these two against each other; both μ as decimal logarithms.

    For every column of the table three panels, in each a series for every row. Diverged runs have no dot.

    Raises
    ------
    UsageError : a run has not recorded its similarity.
    """
    rows, cols = labels(table.layout.rows, table.row_keys), labels(table.layout.cols, table.col_keys)
    found = {place: _ends(cell, results, table.layout.value) for place, cell in table.cells.items()}
    panels = []
    for col in table.col_keys:
        for axes in (("feat_mu", table.layout.value), ("grad_mu", table.layout.value), ("feat_mu", "grad_mu")):
            series = []
            for row in table.row_keys:
                dots = [(run[axes[0]], run[axes[1]]) for run in found.get((row, col), [])]
                points = [Point(x, y) for x, y in dots if math.isfinite(x) and math.isfinite(y)]
                series += [Series(rows[row], points)] if points else []
            panels.append(Panel(cols[col], series, axes))
    return drawable(panels)


def with_growth(runs: Iterable[Row], results: Results) -> list[Row]:
    """The runs with GROWTH, log10 μ(G⁽⁰⁾) / μ(G⁽ᴸ⁾): by how many orders of magnitude the gradient grows in diverse
    directions on its way through all layers, before the first step of training.

    It is None where either is zero or not finite.

    Raises
    ------
    UsageError : a run has not recorded its similarity.
    """
    found = []
    for run in runs:
        of_layers = recorded_logarithms(run, results, "grad_mu")[1][0]
        growth = float(of_layers[0] - of_layers[-1])
        found.append({**run, GROWTH: growth if math.isfinite(growth) else None})
    return found


def _courses(cell: Cell, results: Results, value: str) -> list[Course]:
    found: dict[int, list[list[float]]] = defaultdict(list)
    for _, _, logarithms in logarithms_of(cell, results, value):
        for layer, numbers in enumerate(_summary(logarithms).tolist(), start=first_layer(value)):
            found[layer].append(numbers)
    courses = []
    for layer, numbers in sorted(found.items()):
        start, end, low, high = map(mean, zip(*numbers, strict=True))
        if math.isfinite(start) or math.isfinite(end):
            courses.append(Course(layer, end, None, len(numbers), start, low, high))
    return courses


def _summary(logarithms: np.ndarray) -> np.ndarray:
    """Of (E, columns) the first, the last, the least and the greatest, (columns, 4); NaN where there is none."""
    import numpy as np

    finite = np.isfinite(logarithms)
    low, high = (np.where(finite, logarithms, far) for far in (np.inf, -np.inf))
    rows = np.stack([logarithms[0], logarithms[-1], low.min(axis=0), high.max(axis=0)], axis=1)
    return np.where(np.isfinite(rows), rows, np.nan)


def _ends(cell: Cell, results: Results, value: str) -> list[dict[str, float]]:
    """The coordinates of every finished run, by name."""
    # Both are of one recording, so the same runs have them.
    pairs = zip(*(logarithms_of(cell, results, name) for name in ("feat_mu", "grad_mu")), strict=True)
    return [
        {"feat_mu": features[-1, -1], "grad_mu": gradients[-1, 0], value: run[value]}
        for (run, _, features), (_, _, gradients) in pairs
        if run["status"] == "done" and run[value] is not None
    ]
