"""The data of figures of recorded gradients, as decimal logarithms: they span many orders of magnitude."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lipgnn.errors import UsageError, unknown_name
from lipgnn.recorded import GRADIENTS
from lipgnn.report.rows import Results
from lipgnn.report.series import Panel, Point, Series, drawable, label
from lipgnn.report.statistics import mean, sample_std
from lipgnn.report.table import Cell, Table

if TYPE_CHECKING:
    import numpy as np


def gradient_panels(kind: str, table: Table, results: Results, value: str) -> list[Panel]:
    """The panels of a figure of recorded gradients; every point is a mean of log10 over runs, with its deviation.

    Diverged runs count as well, up to the epoch before: without them gradients that explode would not be seen. Where
    a run has a gradient of zero there is no point.

    Parameters
    ----------
    kind : heat (a panel for every cell of the table, in it a series for every layer) or largest (of all layers the
        largest: a panel for every column, in it a series for every row).
    value : one of GRADIENTS.

    Raises
    ------
    UsageError : a run has not recorded it.
    """
    if value not in GRADIENTS:
        raise unknown_name("recorded value", value, GRADIENTS)
    rows, cols = table.layout.rows, table.layout.cols
    panels = []
    for col in table.col_keys:
        cells = [(row, table.cells[row, col]) for row in table.row_keys if (row, col) in table.cells]
        if kind == "heat":
            panels += [Panel(label((*rows, *cols), (*row, *col)), _layers(cell, results, value)) for row, cell in cells]
        else:
            series = [Series(label(rows, row), _largest(cell, results, value)) for row, cell in cells]
            panels.append(Panel(label(cols, col), [one for one in series if one.points]))
    return drawable(panels)


def _layers(cell: Cell, results: Results, value: str) -> list[Series]:
    """A series for every layer, called by its number from 1."""
    found: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for epochs, logarithms in _recorded(cell, results, value):
        for epoch, of_layers in zip(epochs, logarithms.tolist(), strict=True):
            for layer, logarithm in enumerate(of_layers, start=1):
                found[layer][epoch].append(logarithm)
    return [Series(str(layer), _points(by_epoch)) for layer, by_epoch in sorted(found.items())]


def _largest(cell: Cell, results: Results, value: str) -> list[Point]:
    found: dict[int, list[float]] = defaultdict(list)
    for epochs, logarithms in _recorded(cell, results, value):
        for epoch, logarithm in zip(epochs, logarithms.max(axis=1).tolist(), strict=True):
            found[epoch].append(logarithm)
    return _points(found)


def _points(by_epoch: Mapping[int, list[float]]) -> list[Point]:
    """Mean and deviation by epoch, over the runs that reached it."""
    finite = ((epoch, ys) for epoch, ys in sorted(by_epoch.items()) if all(map(math.isfinite, ys)))
    return [Point(epoch, mean(ys), sample_std(ys), len(ys)) for epoch, ys in finite]


def _recorded(cell: Cell, results: Results, value: str) -> Iterator[tuple[Iterable[int], np.ndarray]]:
    """Epochs and logarithms, (E, L), of every run of a cell; a run that diverged in its first epoch has none."""
    import numpy as np

    for run in cell.runs:
        if not run["epochs_run"]:
            continue
        array = _array(run, results, value)
        with np.errstate(divide="ignore"):
            yield array["epochs"].tolist(), np.log10(array[value].astype(np.float64))


def _array(run: Mapping[str, Any], results: Results, value: str) -> Mapping[str, np.ndarray]:
    recording = results.recording(run["run_id"])
    if recording is None:
        problem = "has recorded no gradients, or its recording is not here"
    elif value not in recording:
        problem = f"is here with {', '.join(name for name in GRADIENTS if name in recording)} alone"
    elif (recording[value] != recording[value]).all():
        problem = f"has no {value}: the layers of a reversible stack have no inputs of their own"
    else:
        return recording
    raise UsageError(
        f"Run {run['run_id']} {problem}.",
        "Give the store it is in, or compute it anew with --record gradients --force.",
    )
