"""The data of a figure: panels of series of points, from the same table that is printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lipgnn.errors import UsageError
from lipgnn.report.table.cells import Cell, Key, Table
from lipgnn.report.table.statistics import mean, sample_std
from lipgnn.report.table.values import is_score, metric_words
from lipgnn.report.view.printed import plain

# Values that do not speak for themselves.
_BARE = ("none", "own", "2x", "on", "off")
# Fields whose values are known to everybody.
_SPEAKING = ("dataset", "model")


@dataclass(frozen=True)
class Point:
    """A mean of `n` runs and its deviation at `x`; in a box plot a single run, x being its seed.

    In figures of what was recorded both are of the decimal logarithm.

    Attributes
    ----------
    y : NaN where all runs diverged.
    diverged : how many runs diverged, which are not in the mean.
    """

    x: Any
    y: float
    std: float | None = None
    n: int = 1
    diverged: int = 0


@dataclass(frozen=True)
class Series:
    """Points that belong together."""

    label: str
    points: list[Point]


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes
    ----------
    axes : the names of what lies along x and y, where panels of one figure differ in it.
    fields : what the labels of the series are the values of.
    left_out : how many runs are not drawn because they diverged.
    """

    title: str
    series: list[Series]
    axes: tuple[str, str] | None = None
    fields: tuple[str, ...] = ()
    left_out: int = 0


def panels_by_column(
    table: Table,
    value: str,
    points: Callable[[Cell], list[Point]],
    *,
    diverged_drawn: bool = False,
) -> list[Panel]:
    """A panel for every column of the table, in it a series for every row that has points.

    Parameters
    ----------
    value : what is drawn.
    diverged_drawn : whether `points` are of diverged runs as well.

    Raises
    ------
    UsageError : no cell has a point.
    """
    rows, cols = labels(table.layout.rows, table.row_keys), titles(table.layout.cols, table.col_keys)
    fields = shown_fields(table.layout.rows, table.row_keys)
    panels = []
    for col in table.col_keys:
        cells = {row: table.cells[row, col] for row in table.row_keys if (row, col) in table.cells}
        series = [Series(rows[row], found) for row, cell in cells.items() if (found := points(cell))]
        title = with_metric(cols[col], table, value, table.metrics_by_column[col])
        left_out = 0 if diverged_drawn else sum(cell.diverged for cell in cells.values())
        panels.append(Panel(title, series, fields=fields, left_out=left_out))
    return drawable(panels)


def means_by_epoch(by_epoch: Mapping[int, list[float]]) -> list[Point]:
    """Mean and deviation by epoch, over the runs that reached it, where all have a finite number."""
    finite = ((epoch, ys) for epoch, ys in sorted(by_epoch.items()) if all(map(math.isfinite, ys)))
    return [Point(epoch, mean(ys), sample_std(ys), len(ys)) for epoch, ys in finite]


def drawable(panels: list[Panel]) -> list[Panel]:
    """The panels that have something in them.

    Raises
    ------
    UsageError : none has.
    """
    drawn = [panel for panel in panels if any(series.points for series in panel.series)]
    points = (point for panel in drawn for series in panel.series for point in series.points)
    if all(math.isnan(point.y) for point in points):
        raise UsageError("No run of this table is done; there is nothing to draw.")
    return drawn


def with_metric(title: str, table: Table, value: str, metrics: Collection[str]) -> str:
    """The title of a panel of these metrics, which it names where the scores of a table have several."""
    return f"{title} ({metric_words(metrics)})" if is_score(value) and len(table.metrics) > 1 else title


def titles(names: Sequence[str], keys: Sequence[Key]) -> dict[Key, str]:
    """The titles of all panels together: what they share is left out, and all but data and model say what they are."""
    shown = _varying(names, keys)

    def text(name: str, value: Any) -> str:
        return plain(value) if name in _SPEAKING else f"{name} {plain(value)}"

    return {key: ", ".join(text(names[place], key[place]) for place in shown) for key in keys}


def shown_fields(names: Sequence[str], keys: Sequence[Key]) -> tuple[str, ...]:
    """The fields whose values `labels` shows."""
    return tuple(names[place] for place in _varying(names, keys))


def _varying(names: Sequence[str], keys: Sequence[Key]) -> Sequence[int]:
    """The places of the fields in which keys differ; all of them where they do not."""
    return [place for place in range(len(names)) if len({key[place] for key in keys}) > 1] or range(len(names))


def labels(names: Sequence[str], keys: Sequence[Key]) -> dict[Key, str]:
    """The labels of all rows together: what they share is left out, and `none` says of what."""
    shown = _varying(names, keys)

    def text(name: str, value: Any) -> str:
        speaks = isinstance(value, str) and (value not in _BARE or len(shown) == 1)
        return plain(value) if speaks else f"{name} {plain(value)}"

    return {key: ", ".join(text(names[place], key[place]) for place in shown) for key in keys}
