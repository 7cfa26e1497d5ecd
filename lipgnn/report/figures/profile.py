"""The figure `profile`: a recorded number layer by layer, from the start of training to its end."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from lipgnn.report.figures.canvas import Canvas
from lipgnn.report.figures.figure import Figure
from lipgnn.report.figures.panel import Panel, Point, Series, panels_by_column
from lipgnn.report.figures.style import look, use_decades, use_whole_numbers
from lipgnn.report.recorded import first_layer, first_recorded, logarithms_of
from lipgnn.report.table.cells import Cell, Table
from lipgnn.report.table.statistics import mean
from lipgnn.results.rows import Results

if TYPE_CHECKING:
    import numpy as np

# The line says when.
_LOOK = partial(look, line="-")
_SHADES = 2
_WHEN = (("start of training", "--"), ("end of training", "-"))


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


class Profile(Figure):
    """Layers along the axis: a panel for every column of the table, in it a series for every row.

    The end is that of what is recorded: of a run that diverged the epoch before, of archived recordings, which may
    have every k-th epoch alone, the last of these.
    """

    needs = "similarity"
    captions = (
        (
            "grad_mu",
            "This is how much the gradient differs between nodes, by layer. It should be of one size at all layers. "
            "It is small where all nodes get the same gradient.",
        ),
        ("feat_mu", "This is how much features differ between nodes, by layer. It is small where nodes are alike."),
        (
            "rank1",
            "This is the share of the features that differs between the nodes of a component, by layer. Where it falls "
            "to zero, all nodes have become alike.",
        ),
    )

    def default_value(self, records: Sequence[str]) -> str:
        return first_recorded(records, self.needs)

    def panels(self, table: Table, results: Results, value: str) -> list[Panel]:
        return panels_by_column(table, value, lambda cell: _courses(cell, results, value), diverged_drawn=True)

    def draw(self, canvas: Canvas, panels: Sequence[Panel]) -> None:
        """The start of training dashed, its end solid, and between the least and the greatest of all epochs a shade.

        More than two series have no shades: these lie over each other, and nobody could tell whose they are.
        """
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        changed = _any_changed(panels)
        shaded = changed and len(canvas.labels) <= _SHADES
        for axes, panel in zip(canvas.places, panels, strict=True):
            axes.set_xlabel("layer")
            use_whole_numbers(axes)
            for series in panel.series:
                number = canvas.labels.index(series.label)
                style = _LOOK(number)
                xs = [point.x for point in series.points]
                start, end = ([10**y for y in ys] for ys in zip(*((p.start, p.y) for p in series.points), strict=True))
                axes.plot(xs, start, color=style["color"], linestyle="--", linewidth=0.9)
                # As many markers as can be told apart, at other layers in every series.
                axes.plot(xs, end, markevery=(number, max(len(xs) // 6, 1)), **style)
                if shaded:
                    low, high = [10**point.low for point in series.points], [10**point.high for point in series.points]
                    axes.fill_between(xs, low, high, color=style["color"], alpha=0.12, linewidth=0)
            use_decades(axes, "y")
        canvas.name_side(canvas.axis())
        when = _WHEN if changed else ()
        further = [Line2D([], [], label=label, color="#666666", linestyle=line) for label, line in when]
        further += [Patch(color="#666666", alpha=0.25, label="least to greatest of all epochs")] if shaded else []
        canvas.legend(_LOOK, further)

    def row(self, panel: Panel, series: Series, point: Course) -> dict[str, Any]:
        found = {"start": point.start, "end": point.y, "low": point.low, "high": point.high}
        logarithms = {f"log10_{name}": y if math.isfinite(y) else None for name, y in found.items()}
        return {"series": series.label, "layer": point.x, **logarithms}


def _any_changed(panels: Sequence[Panel]) -> bool:
    """Whether there is a start and an end; what was recorded once has neither."""
    points = (point for panel in panels for series in panel.series for point in series.points)
    return any(math.isfinite(point.start - point.y) and point.start != point.y for point in points)


def _courses(cell: Cell, results: Results, value: str) -> list[Course]:
    found: dict[int, list[list[float]]] = defaultdict(list)
    for _, _, logarithms in logarithms_of(cell, results, value):
        for layer, numbers in enumerate(_summary(logarithms).tolist(), start=first_layer(value)):
            found[layer].append(numbers)
    courses = []
    for layer, numbers in sorted(found.items()):
        start, end, low, high = map(mean, zip(*numbers, strict=True))
        if math.isfinite(start) or math.isfinite(end):
            courses.append(Course(layer, end, None, len(numbers), start=start, low=low, high=high))
    return courses


def _summary(logarithms: np.ndarray) -> np.ndarray:
    """Of (E, columns) the first, the last, the least and the greatest, (columns, 4); NaN where there is none."""
    import numpy as np

    finite = np.isfinite(logarithms)
    low, high = (np.where(finite, logarithms, far) for far in (np.inf, -np.inf))
    rows = np.stack([logarithms[0], logarithms[-1], low.min(axis=0), high.max(axis=0)], axis=1)
    return np.where(np.isfinite(rows), rows, np.nan)
