"""The figure `horizon`: a measure of walks against how many steps they have."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lipgnn.catalog import WALKERS
from lipgnn.report.figures.canvas import Canvas
from lipgnn.report.figures.figure import Figure
from lipgnn.report.figures.panel import Panel, Point, Series, drawable, labels, shown_fields, titles
from lipgnn.report.figures.style import look, use_whole_numbers
from lipgnn.report.recorded import Steps, measures_by_steps
from lipgnn.report.table.cells import Cell, Table
from lipgnn.report.table.statistics import mean, sample_std
from lipgnn.report.table.values import scale_of
from lipgnn.results.rows import Results

MODEL, *UNIFORM = WALKERS
# What was archived is good to one percent.
_CLOSE = 0.01


class Horizon(Figure):
    """Steps of the walk along the axis: a panel for every column of the table, in it a series for every row.

    A point is a mean over runs, at the epoch that each has selected; diverged runs have none. Where there are more than
    eight numbers of steps it is of a range, and lies at their mean. The uniform walks stand beside them, once where
    they are the same for all rows; where rows differ in what is to be predicted, once for each.
    """

    needs = "horizons"
    captions = (
        ("choice_accuracy", "Choice accuracy by the steps of the walk, beside walks that take all edges alike."),
    )

    def default_value(self, records: Sequence[str]) -> str:
        return "choice_accuracy"

    def panels(self, table: Table, results: Results, value: str) -> list[Panel]:
        rows, cols = labels(table.layout.rows, table.row_keys), titles(table.layout.cols, table.col_keys)
        fields = shown_fields(table.layout.rows, table.row_keys)
        panels = []
        for col in table.col_keys:
            cells = {rows[row]: table.cells[row, col] for row in table.row_keys if (row, col) in table.cells}
            left_out = sum(cell.diverged for cell in cells.values())
            panels.append(Panel(cols[col], list(_series(cells, results, value)), fields=fields, left_out=left_out))
        return drawable(panels)

    def draw(self, canvas: Canvas, panels: Sequence[Panel]) -> None:
        def looks(index: int) -> dict[str, Any]:
            walker = canvas.labels[index].partition(",")[0]
            return _of_uniform(walker) if walker in UNIFORM else look(index)

        scale = scale_of(canvas.value)
        canvas.lines(panels, "steps of the walk", lambda y: scale * y, looks, beside=True)
        for axes, panel in zip(canvas.places, panels, strict=True):
            steps = sorted({point.x for series in panel.series for point in series.points})
            use_whole_numbers(axes)
            if len(steps) == 1:
                axes.set_xticks(steps)
            axes.set_ylim(bottom=0)
        canvas.name_side(canvas.axis())
        canvas.legend(looks)

    def row(self, panel: Panel, series: Series, point: Point) -> dict[str, Any]:
        return {"series": series.label, "steps": point.x, "y": point.y, "std": point.std}


def _series(cells: Mapping[str, Cell], results: Results, value: str) -> Iterator[Series]:
    """Those of the rows of one column, then the uniform walks."""
    beside: list[tuple[str, str, list[Point]]] = []
    for label, cell in cells.items():
        by_walker: dict[str, dict[Steps, list[float]]] = defaultdict(lambda: defaultdict(list))
        for run in cell.runs:
            if run["status"] == "done":
                for walker, by_steps in measures_by_steps(run, results, value).items():
                    for steps, number in by_steps.items():
                        by_walker[walker][steps].append(number)
        if MODEL in by_walker:
            yield Series(label, _points(by_walker[MODEL]))
        beside += [(walker, label, _points(by_walker[walker])) for walker in UNIFORM if walker in by_walker]
    for walker in UNIFORM:
        found = [(label, points) for name, label, points in beside if name == walker]
        same = all(_alike(points, found[0][1]) for _, points in found)
        for label, points in found[:1] if same else found:
            yield Series(walker if same else f"{walker}, {label}", points)


def _points(by_steps: Mapping[Steps, list[float]]) -> list[Point]:
    return [Point(steps.mean, mean(ys), sample_std(ys), len(ys)) for steps, ys in sorted(by_steps.items())]


def _alike(points: Sequence[Point], others: Sequence[Point]) -> bool:
    return [point.x for point in points] == [other.x for other in others] and all(
        math.isclose(point.y, other.y, rel_tol=_CLOSE, abs_tol=1e-9)
        for point, other in zip(points, others, strict=True)
    )


def _of_uniform(walker: str) -> dict[str, Any]:
    return {"color": "#666666", "marker": None, "linestyle": ":" if walker == UNIFORM[0] else "--"}
