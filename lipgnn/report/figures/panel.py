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


@dataclass(frozen=True)
class Point:
    """A mean of `n` runs and its deviation at `x`; in a box plot a single run, x being its seed.

    In figures of what was recorded both are of the decimal logarithm.
    """

    x: Any
    y: float
    std: float | None = None
    n: int = 1


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
    """

    title: str
    series: list[Series]
    axes: tuple[str, str] | None = None


def panels_by_column(
    table: Table,
    value: str,
    points: Callable[[Cell], list[Point]],
    naming: Callable[[Sequence[str], Sequence[Key]], Mapping[Key, str]],
) -> list[Panel]:
    """A panel for every column of the table, in it a series for every row that has points.

    Parameters
    ----------
    value : what is drawn.
    naming : names rows and columns: `labels` or `full_labels`.

    Raises
    ------
    UsageError : no cell has a point.
    """
    rows, cols = naming(table.layout.rows, table.row_keys), naming(table.layout.cols, table.col_keys)
    panels = []
    for col in table.col_keys:
        cells = ((row, table.cells[row, col]) for row in table.row_keys if (row, col) in table.cells)
        series = [Series(rows[row], found) for row, cell in cells if (found := points(cell))]
        panels.append(Panel(with_metric(cols[col], table, value, table.metrics_by_column[col]), series))
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
    if not drawn:
        raise UsageError("No run of this table is done; there is nothing to draw.")
    return drawn


def with_metric(title: str, table: Table, value: str, metrics: Collection[str]) -> str:
    """The title of a panel of these metrics, which it names where the scores of a table have several."""
    return f"{title} ({metric_words(metrics)})" if is_score(value) and len(table.metrics) > 1 else title


def label(names: Sequence[str], key: Key) -> str:
    """The values of some fields in words; names speak for themselves, a number needs that of its field."""
    pairs = zip(names, key, strict=True)
    return ", ".join(plain(value) if isinstance(value, str) else f"{name} {plain(value)}" for name, value in pairs)


def full_labels(names: Sequence[str], keys: Sequence[Key]) -> dict[Key, str]:
    """The labels of rows or columns, each with all its fields."""
    return {key: label(names, key) for key in keys}


def labels(names: Sequence[str], keys: Sequence[Key]) -> dict[Key, str]:
    """The labels of all rows or columns together: what they share is left out, and `none` says of what."""
    shown = [place for place in range(len(names)) if len({key[place] for key in keys}) > 1] or range(len(names))

    def text(name: str, value: Any) -> str:
        speaks = isinstance(value, str) and (value not in _BARE or len(shown) == 1)
        return plain(value) if speaks else f"{name} {plain(value)}"

    return {key: ", ".join(text(names[place], key[place]) for place in shown) for key in keys}
