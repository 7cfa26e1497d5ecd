"""The figure `depth`: means against the number of layers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from lipgnn.errors import UsageError
from lipgnn.report.figures.canvas import Canvas
from lipgnn.report.figures.figure import Figure
from lipgnn.report.figures.panel import Panel, Point, Series, drawable, labels, shown_fields, titles, with_metric
from lipgnn.report.figures.style import look
from lipgnn.report.table.cells import Cell, Key, Table
from lipgnn.report.table.values import scale_of
from lipgnn.results.rows import Results

# Depths that lie further apart than so many times the least are told apart on a logarithmic axis alone.
_FAR = 64


class Depth(Figure):
    """Layers along the axis: a panel for every column without its layers, in it a series for every row."""

    same_height = True
    captions = (
        (None, "The mean against the number of layers. Shades or bars are one sample standard deviation either way."),
    )

    def panels(self, table: Table, results: Results, value: str) -> list[Panel]:
        cols = table.layout.cols
        if "layers" not in cols:
            raise UsageError("--figure depth needs layers among the columns.", "For example: --cols dataset,layers")
        place = cols.index("layers")
        found: dict[Key, dict[Key, list[Point]]] = defaultdict(lambda: defaultdict(list))
        metrics: dict[Key, dict[str, None]] = defaultdict(dict)
        for row in table.row_keys:
            for col in table.col_keys:
                if (point := _point(table.cells.get((row, col)), col[place])) is not None:
                    key = _without(col, place)
                    found[key][row].append(point)
                    metrics[key][table.cells[row, col].metric] = None
        named, series = titles(_without(cols, place), list(found)), labels(table.layout.rows, table.row_keys)
        fields = shown_fields(table.layout.rows, table.row_keys)
        return drawable(
            [
                Panel(
                    with_metric(named[key], table, value, metrics[key]),
                    [Series(series[row], sorted(points, key=lambda p: p.x)) for row, points in rows.items()],
                    fields=fields,
                )
                for key, rows in found.items()
            ]
        )

    def draw(self, canvas: Canvas, panels: Sequence[Panel]) -> None:
        scale = scale_of(canvas.value)
        canvas.lines(panels, "layers", lambda y: scale * y, look, beside=True)
        by_panel = [sorted({point.x for series in panel.series for point in series.points}) for panel in panels]
        # Logarithmic in all panels where they are in one.
        far = any(depths[-1] > _FAR * depths[0] > 0 for depths in by_panel)
        for axes, depths in zip(canvas.places, by_panel, strict=True):
            if far:
                axes.set_xscale("log", base=2)
            if len(depths) <= 10:
                axes.set_xticks(depths, [str(depth) for depth in depths])
                axes.minorticks_off()
        canvas.name_side(canvas.axis())
        canvas.legend(look)

    def row(self, panel: Panel, series: Series, point: Point) -> dict[str, Any]:
        y = None if math.isnan(point.y) else point.y
        return {"series": series.label, "layers": point.x, "y": y, "std": point.std, "diverged": point.diverged}


def _point(cell: Cell | None, layers: int) -> Point | None:
    # A mean of those alone that came to what it counts would look better than it is.
    if cell is None or cell.never or (cell.mean is None and not cell.diverged):
        return None
    return Point(layers, math.nan if cell.mean is None else cell.mean, cell.std, cell.n, cell.diverged)


def _without(key: tuple, place: int) -> tuple:
    return key[:place] + key[place + 1 :]
