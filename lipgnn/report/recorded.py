"""What runs recorded by layer, as decimal logarithms: it spans many orders of magnitude."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lipgnn.catalog import PATH_MEASURES, WALKERS
from lipgnn.errors import UsageError, unknown_name
from lipgnn.report.table.cells import Cell
from lipgnn.report.table.values import DISTANCE, GROWTH
from lipgnn.results.columns import Row
from lipgnn.results.recordings import BY_LAYER, REACH, RECORDS, TRAFFIC, record_of
from lipgnn.results.rows import Results
from lipgnn.spec.horizon import horizon_groups

if TYPE_CHECKING:
    import numpy as np


def first_recorded(records: Sequence[str], otherwise: str) -> str:
    """The first array of what runs record, or of another record where nothing is known of them."""
    return RECORDS[records[0] if records else otherwise][0]


def first_layer(value: str) -> int:
    """The number of the first column: layers count from 1, and similarity begins at the output of the encoder, 0."""
    return 0 if record_of(value) == "similarity" else 1


def logarithms_of(cell: Cell, results: Results, value: str) -> Iterator[tuple[Row, Sequence[int], np.ndarray]]:
    """The runs of a cell, each with epochs and decimal logarithms, (E, columns), but for one that came to nothing.

    Diverged runs count as well, up to the epoch before: without them gradients that explode would not be seen.

    Raises
    ------
    UsageError : nothing of this name is ever recorded by layer, or a run has not done so.
    """
    record = record_of(value)
    if record not in BY_LAYER:
        raise unknown_name("recorded value", value, [name for record in BY_LAYER for name in RECORDS[record]])
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


def with_growth(runs: Iterable[Row], results: Results) -> list[Row]:
    """The runs with GROWTH, log10 μ(G⁽⁰⁾) / μ(G⁽ᴸ⁾): by how many orders of magnitude the gradient grows in diverse
    directions on its way through all layers, before the first step of training.

    It is None where either is zero or not finite.

    Raises
    ------
    UsageError : a run has not recorded its similarity.
    """
    found = []
    for run in runs:
        of_layers = recorded_logarithms(run, results, "grad_mu")[1][0]
        growth = float(of_layers[0] - of_layers[-1])
        found.append({**run, GROWTH: growth if math.isfinite(growth) else None})
    return found


def shares_of(run: Row, results: Results) -> list[float]:
    """The share of 0, 1 … hops in a node's output, and last of what is beyond, at the end of what the run recorded.

    Raises
    ------
    UsageError : the run has not recorded it.
    """
    (name,) = REACH
    return _array(run, results.recording(run["run_id"], "reach"), name)[-1].tolist()


def with_distance(runs: Iterable[Row], results: Results) -> list[Row]:
    """The runs with DISTANCE, Σ_d d · share(d) of what is not beyond: how many hops far the network looks on average.

    It is of the epoch selected; of a run that diverged, None.

    Raises
    ------
    UsageError : a run has not recorded how far it looks.
    """
    found = []
    for run in runs:
        shares = shares_of(run, results)[:-1] if run["status"] == "done" else []
        total = math.fsum(shares)
        distance = math.fsum(hops * share for hops, share in enumerate(shares)) / total if total else math.nan
        found.append({**run, DISTANCE: distance if math.isfinite(distance) else None})
    return found


def course_of(run: Row, results: Results) -> list[tuple[int, float, float]]:
    """Epochs with the objective of each and the MB sent up to then, 0 where nothing is.

    Raises
    ------
    UsageError : the run has not recorded it.
    """
    recording = results.recording(run["run_id"], "traffic")
    objectives, sent = (_array(run, recording, name)[:, 0].tolist() for name in TRAFFIC)
    counted = (0.0 if math.isnan(number) else number for number in sent)
    return list(zip(recording["epochs"].tolist(), objectives, counted, strict=True))


class Steps(NamedTuple):
    """Walks of so many steps: the fewest, the most, and the mean."""

    first: int
    last: int
    mean: float


def measures_by_steps(run: Row, results: Results, value: str) -> dict[str, dict[Steps, float]]:
    """A measure of walks by how many steps they have, for each of WALKERS that was looked at.

    More than eight numbers of steps are put into ranges, as `lipgnn evaluate` does, but for shares of choices of which
    is not recorded how many there were.

    Raises
    ------
    UsageError : nothing of this name is recorded by horizon, or the run has not recorded it.
    """
    if value not in PATH_MEASURES:
        raise unknown_name("measure by horizon", value, PATH_MEASURES)
    recording = results.recording(run["run_id"], "horizons")
    numbers, counts = (_array(run, recording, name)[-1].tolist() for name in (value, "horizon_windows"))
    # Archived numbers are good to one percent.
    windows = {steps: round(count) for steps, count in enumerate(counts[0]) if math.isfinite(count)}
    # Choices are those along the true path, which has as many steps as the walk where that was given.
    given = value == "choice_accuracy" and run["horizon"] == "given"
    apart = value.startswith("choice_accuracy") and not given
    found: dict[str, dict[Steps, float]] = {}
    for first, last in [(steps, steps) for steps in sorted(windows)] if apart else horizon_groups(windows):
        for walker, row in zip(WALKERS, numbers, strict=True):
            here = {steps: windows[steps] for steps in windows if first <= steps <= last and math.isfinite(row[steps])}
            if here:
                weights = {steps: count * steps if given else count for steps, count in here.items()}
                of_range = Steps(first, last, _weighted({steps: steps for steps in here}, here))
                found.setdefault(walker, {})[of_range] = _weighted({steps: row[steps] for steps in here}, weights)
    return found


def _weighted(numbers: Mapping[int, float], weights: Mapping[int, float]) -> float:
    return sum(weights[key] * number for key, number in numbers.items()) / sum(weights.values())


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
        f"Give the store it is in, or compute it anew: {run['command']} --record {record} --force",
    )
