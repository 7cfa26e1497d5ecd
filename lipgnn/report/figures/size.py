"""The figures `size` and `pace`: means against the number of parameters, or against the seconds of an epoch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from lipgnn.report.figures.canvas import Canvas
from lipgnn.report.figures.figure import Figure
from lipgnn.report.figures.panel import Panel, Point, Series, drawable, labels, shown_fields, titles, with_metric
from lipgnn.report.figures.style import look
from lipgnn.report.table.cells import Cell, Key, Table
from lipgnn.report.table.statistics import mean
from lipgnn.report.table.values import scale_of
from lipgnn.results.rows import Results

# What makes a network larger or smaller: rows that differ in nothing else are points of one series.
_SIZES = ("hidden", "heads", "shared_dim")
# What the axis has to the right of the largest, as a share of it.
_MARGIN = 0.05


class Size(Figure):
    """What networks cost along the axis: a panel for every column, in it a series for all rows but for their sizes.

    A point is a cell of the table; its place is the mean over its runs.

    Parameters
    ----------
    column : the number of a run that lies along the axis.
    along : what it is, in words.
    """

    def __init__(self, column: str, along: str):
        self.column, self.along = column, along

    def panels(self, table: Table, results: Results, value: str) -> list[Panel]:
        kept = [place for place, name in enumerate(table.layout.rows) if name not in _SIZES]
        by_kind: dict[Key, list[Key]] = defaultdict(list)
        for row in table.row_keys:
            by_kind[tuple(row[place] for place in kept)].append(row)
        own = [table.layout.rows[place] for place in kept]
        names = labels(own, list(by_kind)) if kept else {(): "all"}
        fields, cols = shown_fields(own, list(by_kind)), titles(table.layout.cols, table.col_keys)
        panels = []
        for col in table.col_keys:
            series = []
            for kind, rows in by_kind.items():
                points = [self._point(table.cells.get((row, col))) for row in rows]
                series.append(Series(names[kind], sorted(filter(None, points), key=lambda point: point.x)))
            title = with_metric(cols[col], table, value, table.metrics_by_column[col])
            panels.append(Panel(title, [one for one in series if one.points], fields=fields))
        return drawable(panels)

    def _point(self, cell: Cell | None) -> Point | None:
        if cell is None or cell.mean is None or cell.never:
            return None
        costs = [run[self.column] for run in cell.runs if run[self.column] is not None]
        return Point(mean(costs), cell.mean, cell.std, cell.n, cell.diverged) if costs else None

    def draw(self, canvas: Canvas, panels: Sequence[Panel]) -> None:
        from matplotlib.ticker import MaxNLocator

        scale = scale_of(canvas.value)
        canvas.lines(panels, self.along, lambda y: scale * y, look)
        for axes, panel in zip(canvas.places, panels, strict=True):
            largest = max(point.x for series in panel.series for point in series.points)
            # Room for a whole marker: the margin that autoscaling leaves is a share of how far points lie apart.
            axes.set_xlim(0, (1 + _MARGIN) * largest)
            axes.xaxis.set_major_locator(MaxNLocator(4))
        canvas.name_side(canvas.axis())
        canvas.legend(look)

    def row(self, panel: Panel, series: Series, point: Point) -> dict[str, Any]:
        return {"series": series.label, self.column: point.x, "y": point.y, "std": point.std}
