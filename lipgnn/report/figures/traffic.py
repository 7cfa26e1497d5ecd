"""The figure `traffic`: what training makes small, against epochs and against what was sent of gradients."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lipgnn.report.figures.canvas import Canvas
from lipgnn.report.figures.figure import Figure
from lipgnn.report.figures.panel import Panel, Point, Series, panels_by_column
from lipgnn.report.figures.style import look, use_decades
from lipgnn.report.recorded import course_of
from lipgnn.report.table.cells import Cell, Table
from lipgnn.report.table.statistics import mean, sample_std
from lipgnn.results.recordings import TRAFFIC
from lipgnn.results.rows import Results

_EPOCH, _SENT = "epoch", "sent (MB)"


class Traffic(Figure):
    """Two panels for every column of the table, by epochs and by MB sent, in each a series for every row.

    A point is an epoch, a mean over runs. Runs that send nothing, in one process without --compress, are in the first
    panel alone.
    """

    needs = "traffic"
    captions = (
        (TRAFFIC[0], "The training loss with its L2 penalty, against epochs and against what was sent of gradients."),
    )

    def default_value(self, records: Sequence[str]) -> str:
        return TRAFFIC[0]

    def panels(self, table: Table, results: Results, value: str) -> list[Panel]:
        panels = panels_by_column(table, value, lambda cell: _points(cell, results))
        return [part for panel in panels for part in _both(panel)]

    def draw(self, canvas: Canvas, panels: Sequence[Panel]) -> None:
        canvas.lines(panels, _EPOCH, lambda y: y, _look)
        for axes, panel in zip(canvas.places, panels, strict=True):
            axes.set_xlabel(panel.axes[0])
            if panel.axes[0] == _SENT:
                use_decades(axes, "x")
            use_decades(axes, "y")
        canvas.name_side(canvas.axis())
        canvas.legend(_look)

    def row(self, panel: Panel, series: Series, point: Point) -> dict[str, Any]:
        along = "epoch" if panel.axes[0] == _EPOCH else "sent_mb"
        return {"series": series.label, "along": along, "x": point.x, "objective": point.y, "std": point.std}


def _look(index: int) -> dict[str, Any]:
    """With markers, so far apart that they do not hide the line."""
    return {**look(index), "markevery": 0.15}


def _both(panel: Panel) -> list[Panel]:
    """The panel against epochs, and against what was sent where anything was."""
    series = {_EPOCH: [], _SENT: []}
    for one in panel.series:
        series[_EPOCH].append(Series(one.label, [replace(point, x=point.x[0]) for point in one.points]))
        sent = [replace(point, x=point.x[1]) for point in one.points if point.x[1] > 0]
        series[_SENT].append(Series(one.label, sent))
    axes = [(along, TRAFFIC[0]) for along, found in series.items() if any(one.points for one in found)]
    parts = [replace(panel, series=[one for one in series[each[0]] if one.points], axes=each) for each in axes]
    # A run that is not drawn is so in both, and counts once.
    return [parts[0], *(replace(part, left_out=0) for part in parts[1:])]


def _points(cell: Cell, results: Results) -> list[Point]:
    """Means over the runs of a cell that are done; x is a pair of the epoch and the MB sent up to then."""
    found: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for run in cell.runs:
        if run["status"] == "done":
            for epoch, objective, sent in course_of(run, results):
                found[epoch].append((objective, sent))
    points = []
    for epoch, pairs in sorted(found.items()):
        objectives, sent = zip(*pairs, strict=True)
        if all(map(math.isfinite, objectives)):
            points.append(Point((epoch, mean(sent)), mean(objectives), sample_std(objectives), len(pairs)))
    return points
