"""The figure `reach`: how far networks look, the share of each distance in a node's output."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lipgnn.report.figures.canvas import Canvas
from lipgnn.report.figures.figure import Figure, draw, sheet_of
from lipgnn.report.figures.panel import Panel, Point, Series, panels_by_column
from lipgnn.report.figures.style import look, use_whole_numbers
from lipgnn.report.recorded import shares_of
from lipgnn.report.table.cells import Cell, Table
from lipgnn.report.table.statistics import mean, sample_std
from lipgnn.results.recordings import REACH
from lipgnn.results.rows import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Sheet


class Reach(Figure):
    """Hops along the axis: a panel for every column of the table, in it a series for every row.

    A point is a mean over runs, at the epoch that each has selected; diverged runs have none. What is beyond the hops
    of the network's layers is not drawn.
    """

    needs = "reach"
    same_height = True
    captions = ((REACH[0], "The share of each distance in a node's output, when trained: how far the network looks."),)

    def default_value(self, records: Sequence[str]) -> str:
        return REACH[0]

    def panels(self, table: Table, results: Results, value: str) -> list[Panel]:
        return panels_by_column(table, value, lambda cell: _points(cell, results))

    def draw(self, canvas: Canvas, panels: Sequence[Panel]) -> None:
        canvas.lines(panels, "distance in hops", lambda share: 100 * share, look)
        for axes in canvas.places:
            use_whole_numbers(axes)
            axes.set_ylim(bottom=0)
        canvas.name_side(canvas.axis())
        canvas.legend(look)

    def row(self, panel: Panel, series: Series, point: Point) -> dict[str, Any]:
        return {"series": series.label, "hops": point.x, "share": point.y, "std": point.std}


def draw_reach(distances: Sequence[Mapping[str, Any]], title: str, suffix: str) -> bytes:
    """The same of a single network, from what `lipgnn diagnose --reach` finds, beside plain averaging.

    Returns
    -------
    the content of the file; the same numbers give the same bytes.
    """
    return draw(Reach(), [_panel_of(distances, title)], REACH[0], suffix)


def reach_sheet(distances: Sequence[Mapping[str, Any]], title: str) -> Sheet:
    """The same as an object of matplotlib."""
    return sheet_of(Reach(), [_panel_of(distances, title)], REACH[0])


def _panel_of(distances: Sequence[Mapping[str, Any]], title: str) -> Panel:
    named = {"network": "share", "averaging over neighbours alone": "walk"}
    series = [
        Series(label, [Point(row["distance"], row[key]) for row in distances if row[key] is not None])
        for label, key in named.items()
    ]
    return Panel(title, series)


def _points(cell: Cell, results: Results) -> list[Point]:
    by_distance: dict[int, list[float]] = defaultdict(list)
    for run in cell.runs:
        if run["status"] == "done":
            for hops, share in enumerate(shares_of(run, results)[:-1]):
                by_distance[hops].append(share)
    finite = ((hops, ys) for hops, ys in sorted(by_distance.items()) if all(map(math.isfinite, ys)))
    return [Point(hops, mean(ys), sample_std(ys), len(ys)) for hops, ys in finite]
