"""The figure `largest`: of a recorded number the largest over layers, by epoch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

from lipgnn.report.figures.canvas import Canvas
from lipgnn.report.figures.figure import Figure
from lipgnn.report.figures.panel import Panel, Point, Series, means_by_epoch, panels_by_column
from lipgnn.report.figures.style import look, use_decades, use_whole_numbers
from lipgnn.report.recorded import first_recorded, logarithms_of
from lipgnn.report.table.cells import Cell, Table
from lipgnn.results.rows import Results

_LOOK = partial(look, marker=False)


class Largest(Figure):
    """A panel for every column, in it a series for every row.

    Every point is a mean of log10 over runs, with its deviation. Where that of a run is not finite there is no point.
    """

    needs = "gradients"
    same_height = True

    def default_value(self, records: Sequence[str]) -> str:
        return first_recorded(records, self.needs)

    def panels(self, table: Table, results: Results, value: str) -> list[Panel]:
        return panels_by_column(table, value, lambda cell: _points(cell, results, value), diverged_drawn=True)

    def draw(self, canvas: Canvas, panels: Sequence[Panel]) -> None:
        canvas.lines(panels, "epoch", lambda logarithm: 10**logarithm, _LOOK, "± one deviation of log10")
        for axes in canvas.places:
            use_decades(axes, "y")
            use_whole_numbers(axes)
        canvas.name_side(f"{canvas.axis()},\nlargest over layers")
        canvas.legend(_LOOK)

    def row(self, panel: Panel, series: Series, point: Point) -> dict[str, Any]:
        return {"series": series.label, "epoch": point.x, "log10": point.y, "std": point.std}


def _points(cell: Cell, results: Results, value: str) -> list[Point]:
    found: dict[int, list[float]] = defaultdict(list)
    for _, epochs, logarithms in logarithms_of(cell, results, value):
        for epoch, logarithm in zip(epochs, logarithms.max(axis=1).tolist(), strict=True):
            found[epoch].append(logarithm)
    return means_by_epoch(found)
