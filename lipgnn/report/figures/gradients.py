"""The data of figures of what runs recorded by layer, as decimal logarithms: it spans many orders of magnitude."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from lipgnn.errors import UsageError, unknown_name
from lipgnn.report.figures.series import Panel, Point, Series, drawable, label
from lipgnn.report.table.cells import Cell, Table
from lipgnn.report.table.statistics import mean, sample_std
from lipgnn.results.recordings import RECORDS, record_of
from lipgnn.results.rows import Results, Row

if TYPE_CHECKING:
    import numpy as np


def gradient_panels(kind: str, table: Table, results: Results, value: str) -> list[Panel]:
    """The panels of a figure of recorded gradients; every point is a mean of log10 over runs, with its deviation.

    Diverged runs count as well, up to the epoch before: without them gradients that explode would not be seen. Where
    a number of a run is zero or not finite there is no point.

    Parameters
    ----------
    kind : heat (a panel for every cell of the table, in it a series for every layer) or largest (of all layers the
        largest: a panel for every column, in it a series for every row).
    value : a name among those of RECORDS.

    Raises
    ------
    UsageError : a run has not recorded it.
    """
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
    """A series for every layer, called by its number; see `first_layer`."""
    found: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for _, epochs, logarithms in logarithms_of(cell, results, value):
        for epoch, of_layers in zip(epochs, logarithms.tolist(), strict=True):
            for layer, logarithm in enumerate(of_layers, start=first_layer(value)):
                found[layer][epoch].append(logarithm)
    return [Series(str(layer), _points(by_epoch)) for layer, by_epoch in sorted(found.items())]


def _largest(cell: Cell, results: Results, value: str) -> list[Point]:
    found: dict[int, list[float]] = defaultdict(list)
    for _, epochs, logarithms in logarithms_of(cell, results, value):
        for epoch, logarithm in zip(epochs, logarithms.max(axis=1).tolist(), strict=True):
            found[epoch].append(logarithm)
    return _points(found)


def _points(by_epoch: Mapping[int, list[float]]) -> list[Point]:
    """Mean and deviation by epoch, over the runs that reached it."""
    finite = ((epoch, ys) for epoch, ys in sorted(by_epoch.items()) if all(map(math.isfinite, ys)))
    return [Point(epoch, mean(ys), sample_std(ys), len(ys)) for epoch, ys in finite]


def first_layer(value: str) -> int:
    """The number of the first column: layers count from 1, and similarity begins at the output of the encoder, 0."""
    return 0 if record_of(value) == "similarity" else 1


def logarithms_of(cell: Cell, results: Results, value: str) -> Iterator[tuple[Row, Sequence[int], np.ndarray]]:
    """The runs of a cell, each with epochs and decimal logarithms, (E, columns), but for one that came to nothing.

    Raises
    ------
    UsageError : nothing of this name is ever recorded, or a run has not done so.
    """
    record = record_of(value)
    if record is None:
        raise unknown_name("recorded value", value, [name for names in RECORDS.values() for name in names])
    for run in cell.runs:
        if run["epochs_run"] or results.recording(run["run_id"], record) is not None:
            yield run, *recorded_logarithms(run, results, value)


def recorded_logarithms(run: Row, results: Results, value: str) -> tuple[Sequence[int], np.ndarray]:
    """Epochs, and decimal logarithms of one of RECORDS, (E, columns).

    Raises
    ------
    UsageError : the run has not recorded it.
    """
    import numpy as np

    recording = results.recording(run["run_id"], record_of(value))
    array = _array(run, recording, value)
    with np.errstate(divide="ignore"):
        return recording["epochs"].tolist(), np.log10(array.astype(np.float64))


def _array(run: Row, recording: Mapping[str, np.ndarray] | None, value: str) -> np.ndarray:
    record = record_of(value)
    if recording is None:
        problem = f"has recorded no {record}, or its recording is not here"
    elif value not in recording:
        problem = f"is here with {', '.join(name for name in RECORDS[record] if name in recording)} alone"
    elif run["stack"] == "reversible" and (recording[value] != recording[value])[:, 0].all():
        problem = f"has no {value}: the layers of a reversible stack have no inputs of their own"
    else:
        return recording[value]
    raise UsageError(
        f"Run {run['run_id']} {problem}.",
        f"Give the store it is in, or compute it anew with --record {record} --force.",
    )
