"""The figure `box`: every run as a dot over median and quartiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lipgnn.report.figures.canvas import Canvas
from lipgnn.report.figures.figure import Figure
from lipgnn.report.figures.panel import Panel, Point, Series, panels_by_column
from lipgnn.report.figures.style import look
from lipgnn.report.table.cells import Cell, Table
from lipgnn.report.table.values import scale_of
from lipgnn.report.view.printed import plain
from lipgnn.results.rows import Results


class Box(Figure):
    """A box for every row, in a panel for every column; the x of a point is what its run is averaged over by."""

    same_height = True
    captions = ((None, "Every run is a dot. The box spans the quartiles, and its line is the median."),)

    def panels(self, table: Table, results: Results, value: str) -> list[Panel]:
        return panels_by_column(table, value, _points)

    def draw(self, canvas: Canvas, panels: Sequence[Panel]) -> None:
        scale = scale_of(canvas.value)
        for axes, panel in zip(canvas.places, panels, strict=True):
            drawn = [([scale * point.y for point in points], style) for points, style in canvas.series(panel, look)]
            axes.boxplot([ys for ys, _ in drawn], widths=0.5, showfliers=False, medianprops={"color": "black"})
            for place, (ys, style) in enumerate(drawn, start=1):
                # Spread by hand rather than by chance, so that the same data gives the same picture.
                xs = [place + 0.24 * (index / max(len(ys) - 1, 1) - 0.5) for index in range(len(ys))]
                axes.plot(xs, ys, **(style | {"linestyle": "none", "alpha": 0.8}))
            names = [series.label for series in panel.series]
            crowded = len(names) > 4 or max(map(len, names)) > 8
            axes.set_xticks(range(1, len(names) + 1), names, rotation=30 if crowded else 0)
            axes.grid(visible=False, axis="x")
            axes.set_xlabel(", ".join(panel.fields))
        canvas.name_side(canvas.axis())
        canvas.explain()

    def row(self, panel: Panel, series: Series, point: Point) -> dict[str, Any]:
        return {"series": series.label, "run": point.x, "y": point.y, "std": point.std}


def _points(cell: Cell) -> list[Point]:
    return [Point("/".join(map(plain, key)), value) for key, value in cell.values.items()]
