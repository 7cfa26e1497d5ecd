"""The figure `curve`: losses and scores by epoch, from the logs of a store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

from lipgnn.errors import DataError, UsageError, unknown_name
from lipgnn.report.figures.canvas import Canvas
from lipgnn.report.figures.figure import Figure
from lipgnn.report.figures.panel import Panel, Point, Series, means_by_epoch, panels_by_column
from lipgnn.report.figures.style import look, use_whole_numbers
from lipgnn.report.table.cells import Cell, Table
from lipgnn.report.table.values import scale_of
from lipgnn.results.rows import Results

# What every line of a log has.
LOGGED = ("train_loss", "train_score", "val_loss", "val_score", "test_score")

_LOOK = partial(look, marker=False)


class Curve(Figure):
    """Epochs along the axis: a panel for every column, in it a series for every row."""

    captions = (
        (
            None,
            "The mean by epoch is over the runs that reached it. Shades are one sample standard deviation either way.",
        ),
    )

    def panels(self, table: Table, results: Results, value: str) -> list[Panel]:
        if value not in LOGGED:
            raise unknown_name("value of a curve", value, LOGGED)
        return panels_by_column(table, value, lambda cell: _points(cell, results, value))

    def draw(self, canvas: Canvas, panels: Sequence[Panel]) -> None:
        scale = scale_of(canvas.value)
        canvas.lines(panels, "epoch", lambda y: scale * y, _LOOK)
        for axes in canvas.places:
            use_whole_numbers(axes)
        canvas.name_side(canvas.axis())
        canvas.legend(_LOOK)

    def row(self, panel: Panel, series: Series, point: Point) -> dict[str, Any]:
        return {"series": series.label, "epoch": point.x, "y": point.y, "std": point.std}


def _points(cell: Cell, results: Results, value: str) -> list[Point]:
    epochs: dict[int, list[float]] = defaultdict(list)
    for run in cell.runs:
        if run["status"] != "done":
            continue
        folder = results.run(run["run_id"])
        log = folder.read_log() if folder else []
        if not log:
            raise UsageError(
                f"Run {run['run_id']} has no log here; training curves are drawn from the logs of a store.",
                "Give the store itself, not only its results.csv.",
            )
        for number, line in enumerate(log, start=1):
            if value not in line:
                raise DataError(
                    f"Line {number} of {str(folder.log_path)!r} has no {value}.",
                    "Run that run's command with --force to compute it anew.",
                )
            epochs[line["epoch"]].append(line[value])
    return means_by_epoch(epochs)
