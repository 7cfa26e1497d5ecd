"""The plan of a sweep: every run with its id, what the store has of it, and how long it may take. No torch here."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from lipgnn.catalog import AUTO_FORM, AUTO_METRIC
from lipgnn.errors import DataError
from lipgnn.results.columns import Row
from lipgnn.results.store import Store
from lipgnn.spec.run import RunSpec
from lipgnn.spec.study import identity
from lipgnn.sweep.estimate import Paces

DONE, DIVERGED, FAILED, MISSING = "done", "diverged", "failed", "to do"
# Done in another store, whose row is archived with the code; and not to be done, for want of its data.
ARCHIVED, NO_DATA = "done (archived)", "no data"
STATES = (DONE, ARCHIVED, DIVERGED, FAILED, MISSING, NO_DATA)
RETRIES = (FAILED, DIVERGED)


@dataclass(frozen=True)
class PlannedRun:
    """One run of a sweep.

    Attributes
    ----------
    run_id : empty where the data cannot be read.
    state : what the store has of it: "done", "diverged", "failed" or "to do"; "done (archived)" if an archived row
        has it; "no data" in a plan that is only shown.
    estimate : seconds it may take, from past runs; None where they say nothing about it.
    rough : whether the estimate is scaled from runs of another shape.
    """

    spec: RunSpec
    run_id: str
    state: str
    estimate: float | None
    rough: bool = False


@dataclass(frozen=True)
class Plan:
    """All runs of a sweep, and which of them are to be computed."""

    runs: list[PlannedRun]
    to_run: list[PlannedRun]

    @property
    def seconds(self) -> float | None:
        """Estimated time of all that is to run, one after the other, as far as known; None if nothing is."""
        estimates = [planned.estimate for planned in self.to_run if planned.estimate is not None]
        return sum(estimates) if estimates or not self.to_run else None

    @property
    def unknown(self) -> int:
        """How many of the runs are in no estimate."""
        return sum(planned.estimate is None for planned in self.to_run)

    @property
    def rough(self) -> bool:
        """Whether some of the estimates are rough."""
        return any(planned.rough for planned in self.to_run)


def make_plan(
    specs: Iterable[RunSpec],
    store: Store,
    *,
    archived: Iterable[Row] = (),
    further: Iterable[Row] = (),
    retry: Collection[str] = (),
    force: bool = False,
    without_data: bool = False,
) -> Plan:
    """Look up every run in the store and among archived rows.

    Parameters
    ----------
    archived : rows that count as results.
    further : rows that say how long runs take and nothing else.
    retry : states to compute again: "failed", "diverged".
    force : compute everything again.
    without_data : plan runs whose data cannot be read as well, to show them.

    Raises
    ------
    DataError : the data set of a run that is to be computed cannot be read; a sweep does not start without its data.
    """
    archived = list(archived)
    states: dict[str, str] = dict.fromkeys(store.failed(), FAILED)
    states |= {row["run_id"]: ARCHIVED if row["status"] == DONE else row["status"] for row in archived}
    paces = Paces(_noting(states, store.finished(), [*archived, *further]))
    # Of data that is not here, an archived row of the same options is taken to be of the same data.
    known = {identity(row): row["run_id"] for row in archived if not force and row["status"] not in retry}
    runs = []
    for spec in specs:
        try:
            spec = _settled(spec)
            run_id = spec.run_id(fingerprint_of(spec.dataset, spec.split))
        except DataError:
            run_id = known.get(identity(spec.to_dict()), "")
            if not (run_id or without_data):
                raise
        state = states.get(run_id, MISSING) if run_id else NO_DATA
        runs.append(PlannedRun(spec, run_id, state, *paces.estimate(spec)))
    wanted = {MISSING, NO_DATA, *retry}
    return Plan(runs, [planned for planned in runs if force or planned.state in wanted])


def _settled(spec: RunSpec) -> RunSpec:
    """The run with what its data decides, as `lipgnn.tasks.measured` finds it when it is computed."""
    if spec.metric == AUTO_METRIC:
        spec = spec.with_values(metric=metric_of(spec.dataset))
    return spec.with_values(features=form_of(spec.dataset)) if spec.features == AUTO_FORM else spec


def outline(specs: Iterable[RunSpec], rows: Iterable[Row]) -> Plan:
    """A plan by rows alone, for which no data is read: its runs have no ids."""
    rows = list(rows)
    paces = Paces(rows)
    had = {identity(row): row["status"] for row in rows}
    runs = [PlannedRun(spec, "", had.get(identity(spec.to_dict()), MISSING), *paces.estimate(spec)) for spec in specs]
    return Plan(runs, [planned for planned in runs if planned.state == MISSING])


@functools.lru_cache(maxsize=64)
def fingerprint_of(dataset: str, split: str) -> str:
    """The fingerprint of a data set with a split, computed once."""
    # Here, because --help need not wait for numpy and scipy.
    from lipgnn.tasks import identify

    return identify(dataset, split=split)


@functools.lru_cache(maxsize=64)
def metric_of(dataset: str) -> str:
    """The metric of data that is known by its file alone, read once."""
    from lipgnn.tasks import metric_of_data

    return metric_of_data(dataset)


@functools.lru_cache(maxsize=64)
def form_of(dataset: str) -> str:
    """The form that suits the features of data that is known by its file alone, read once."""
    from lipgnn.datasets import form_of_data

    return form_of_data(dataset)


def _noting(states: dict[str, str], stored: Iterator[Row], others: Iterable[Row]) -> Iterator[Row]:
    """All rows one by one, so that large stores need no memory; the states of the stored ones are taken down."""
    for row in stored:
        states[row["run_id"]] = row["status"]
        yield row
    yield from others
