"""The data of a figure: panels of series of points, from the same table that is printed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lipgnn.errors import UsageError, unknown_name
from lipgnn.report.table.cells import Cell, Key, Table
from lipgnn.report.table.statistics import mean, sample_std
from lipgnn.report.view.printed import plain
from lipgnn.results.rows import Results

# Values that do not speak for themselves.
_BARE = ("none", "own", "2x")
CURVES = ("train_loss", "train_score", "val_loss", "val_score", "test_score")


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
    axes : in a scatter plot the names of what lies along x and y.
    """

    title: str
    series: list[Series]
    axes: tuple[str, str] | None = None


def panels_of(kind: str, table: Table, results: Results) -> list[Panel]:
    """The panels of a figure: a series for every row of the table, a panel for every column.

    Parameters
    ----------
    kind : depth (layers along the axis, not a panel each), curve (epochs along the axis) or box.

    Raises
    ------
    UsageError : the table lacks what the figure shows.
    """
    if kind == "depth":
        return _depth(table)
    if kind == "curve" and table.layout.value not in CURVES:
        raise unknown_name("value of a curve", table.layout.value, CURVES)
    panels = []
    for col in table.col_keys:
        series = []
        for row in table.row_keys:
            cell = table.cells.get((row, col))
            if cell is not None and cell.n:
                points = _curve(cell, table.layout.value, results) if kind == "curve" else _spread(cell)
                series.append(Series(label(table.layout.rows, row), points))
        panels.append(Panel(label(table.layout.cols, col), series))
    return drawable(panels)


def records(kind: str, panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """Every point of a figure as a record."""
    x = {"depth": "layers", "box": "run"}.get(kind, "epoch")
    series_of = "layer" if kind == "heat" else "series"
    y = "log10" if kind in ("heat", "largest") else "y"

    def numbers(panel: Panel, point: Point) -> dict[str, Any]:
        if kind == "profile":
            found = {"start": point.start, "end": point.y, "low": point.low, "high": point.high}
            return {"layer": point.x} | {f"log10_{name}": _or_none(value) for name, value in found.items()}
        if kind == "scatter":
            return {"x_is": panel.axes[0], "x": point.x, "y_is": panel.axes[1], "y": point.y}
        return {x: point.x, y: point.y, "std": point.std}

    return [
        {"panel": panel.title, series_of: series.label, **numbers(panel, point), "n": point.n}
        for panel in panels
        for series in panel.series
        for point in series.points
    ]


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _depth(table: Table) -> list[Panel]:
    cols = table.layout.cols
    if "layers" not in cols:
        raise UsageError("--figure depth needs layers among the columns.", "For example: --cols dataset,layers")
    place = cols.index("layers")
    names = cols[:place] + cols[place + 1 :]
    panels: dict[Key, dict[Key, list[Point]]] = defaultdict(lambda: defaultdict(list))
    series = labels(table.layout.rows, table.row_keys)
    for row in table.row_keys:
        for col in table.col_keys:
            cell = table.cells.get((row, col))
            # A mean of those alone that came to what it counts would look better than it is.
            if cell is not None and cell.mean is not None and not cell.never:
                point = Point(col[place], cell.mean, cell.std, cell.n)
                panels[col[:place] + col[place + 1 :]][row].append(point)
    return drawable(
        [
            Panel(
                label(names, key),
                [Series(series[row], sorted(points, key=lambda p: p.x)) for row, points in rows.items()],
            )
            for key, rows in panels.items()
        ]
    )


def _spread(cell: Cell) -> list[Point]:
    return [Point("/".join(map(plain, key)), value) for key, value in cell.values.items()]


def _curve(cell: Cell, value: str, results: Results) -> list[Point]:
    """Mean and deviation by epoch, over the runs that reached it."""
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
        for record in log:
            epochs[record["epoch"]].append(record[value])
    return [Point(epoch, mean(ys), sample_std(ys), len(ys)) for epoch, ys in sorted(epochs.items())]


def drawable(panels: list[Panel]) -> list[Panel]:
    """The panels that have something in them.

    Raises
    ------
    UsageError : none has.
    """
    kept = [panel for panel in panels if any(series.points for series in panel.series)]
    if not kept:
        raise UsageError("No run of this table is done; there is nothing to draw.")
    return kept


def label(names: Sequence[str], key: Key) -> str:
    """The values of some fields in words; names speak for themselves, a number needs that of its field."""
    pairs = zip(names, key, strict=True)
    return ", ".join(plain(value) if isinstance(value, str) else f"{name} {plain(value)}" for name, value in pairs)


def labels(names: Sequence[str], keys: Sequence[Key]) -> dict[Key, str]:
    """The labels of all rows or columns together: what they share is left out, and `none` says of what."""
    shown = [place for place in range(len(names)) if len({key[place] for key in keys}) > 1] or range(len(names))

    def text(name: str, value: Any) -> str:
        speaks = isinstance(value, str) and (value not in _BARE or len(shown) == 1)
        return plain(value) if speaks else f"{name} {plain(value)}"

    return {key: ", ".join(text(names[place], key[place]) for place in shown) for key in keys}
