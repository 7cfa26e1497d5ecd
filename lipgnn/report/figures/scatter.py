"""The figure `scatter`: runs as dots, their result against the similarity of features and gradients at their end."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from lipgnn.report.figures.canvas import Canvas
from lipgnn.report.figures.figure import Figure
from lipgnn.report.figures.panel import Panel, Point, Series, drawable, labels, shown_fields, titles, with_metric
from lipgnn.report.figures.style import look, use_decades
from lipgnn.report.recorded import logarithms_of
from lipgnn.report.table.cells import Cell, Table
from lipgnn.report.table.values import scale_of
from lipgnn.results.rows import Results

# At the ends of the stack: what lies along the logarithmic axes.
_ENDS = {"feat_mu": "spread of output, μ", "grad_mu": "spread of first gradient, μ"}
_LOOK = partial(look, line="none")


class Scatter(Figure):
    """One dot a run, at the end of training: the value of the table against μ of the output X⁽ᴸ⁾ and against μ of the
    gradient G⁽⁰⁾ at the first layer's input, and these two against each other; both μ as decimal logarithms.

    For every column of the table three panels, in each a series for every row. Diverged runs have no dot.
    """

    needs = "similarity"
    same_height = False
    captions = (
        (
            None,
            "Every run is a dot: its result, and how much its output and the gradient of its first layer differ "
            "between nodes at its end.",
        ),
    )

    def panels(self, table: Table, results: Results, value: str) -> list[Panel]:
        rows, cols = labels(table.layout.rows, table.row_keys), titles(table.layout.cols, table.col_keys)
        fields = shown_fields(table.layout.rows, table.row_keys)
        found = {place: _ends(cell, results, value) for place, cell in table.cells.items()}
        panels = []
        for col in table.col_keys:
            left_out = sum(cell.diverged for (_, of), cell in table.cells.items() if of == col)
            for axes in (("feat_mu", value), ("grad_mu", value), ("feat_mu", "grad_mu")):
                series = []
                for row in table.row_keys:
                    dots = [(run[axes[0]], run[axes[1]]) for run in found.get((row, col), [])]
                    points = [Point(x, y) for x, y in dots if math.isfinite(x) and math.isfinite(y)]
                    series += [Series(rows[row], points)] if points else []
                title = with_metric(cols[col], table, axes[1], table.metrics_by_column[col])
                # A run that is not drawn is in none of the three, and counts once.
                panels.append(Panel(title, series, axes, fields, left_out if axes == ("feat_mu", value) else 0))
        return drawable(panels)

    def draw(self, canvas: Canvas, panels: Sequence[Panel]) -> None:
        for axes, panel in zip(canvas.places, panels, strict=True):
            x, y = map(_shown, panel.axes)
            for points, style in canvas.series(panel, _LOOK):
                axes.plot([x(point.x) for point in points], [y(point.y) for point in points], **style)
            for place, name in zip("xy", panel.axes, strict=True):
                if name in _ENDS:
                    use_decades(axes, place)
            along, up = (_ENDS.get(name) or canvas.axis(name) for name in panel.axes)
            axes.set_xlabel(along)
            axes.set_ylabel(up)
        canvas.legend(_LOOK)

    def row(self, panel: Panel, series: Series, point: Point) -> dict[str, Any]:
        x, y = panel.axes
        return {"series": series.label, "x_is": x, "x": point.x, "y_is": y, "y": point.y}


def _shown(name: str) -> Callable[[float], float]:
    """The number on the axis of a value for a number of a point."""
    if name in _ENDS:
        return lambda logarithm: 10**logarithm
    scale = scale_of(name)
    return lambda number: scale * number


def _ends(cell: Cell, results: Results, value: str) -> list[dict[str, float]]:
    """The coordinates of every run that is done, by name."""
    # Both are of one recording, so the same runs have them.
    pairs = zip(*(logarithms_of(cell, results, name) for name in _ENDS), strict=True)
    return [
        {"feat_mu": features[-1, -1], "grad_mu": gradients[-1, 0], value: run[value]}
        for (run, _, features), (_, _, gradients) in pairs
        if run["status"] == "done" and run[value] is not None
    ]
