"""The plan of a sweep: every run with its id, what the store has of it, and how long it may take. No torch here."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lipgnn.errors import DataError
from lipgnn.results.store import Store
from lipgnn.spec.run import RunSpec
from lipgnn.spec.study import identity
from lipgnn.sweep.estimate import Paces

DONE, DIVERGED, FAILED, MISSING = "done", "diverged", "failed", "to do"
# Done in another store, whose row is published with the code; and not to be done, for want of its data.
PUBLISHED, NO_DATA = "done (published)", "no data"
STATES = (DONE, PUBLISHED, DIVERGED, FAILED, MISSING, NO_DATA)
RETRIES = (FAILED, DIVERGED)

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Cell:
    """One run of a sweep.

    Attributes
    ----------
    run_id : empty where the data cannot be read.
    state : what the store has of it: "done", "diverged", "failed" or "to do"; "done (published)" if a published row
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

    cells: list[Cell]
    to_run: list[Cell]

    @property
    def seconds(self) -> float | None:
        """Estimated time of all that is to run, one after the other, as far as known; None if nothing is."""
        estimates = [cell.estimate for cell in self.to_run if cell.estimate is not None]
        return sum(estimates) if estimates or not self.to_run else None

    @property
    def unknown(self) -> int:
        """How many of the runs are in no estimate."""
        return sum(cell.estimate is None for cell in self.to_run)

    @property
    def rough(self) -> bool:
        """Whether some of the estimates are rough."""
        return any(cell.rough for cell in self.to_run)


def make_plan(
    runs: Iterable[RunSpec],
    store: Store,
    *,
    published: Iterable[Row] = (),
    further: Iterable[Row] = (),
    retry: Collection[str] = (),
    force: bool = False,
    without_data: bool = False,
) -> Plan:
    """Look up every run in the store and among published rows.

    Parameters
    ----------
    published : rows that count as results.
    further : rows that say how long runs take and nothing else.
    retry : states to compute again: "failed", "diverged".
    force : compute everything again.
    without_data : plan runs whose data cannot be read as well, to show them.

    Raises
    ------
    DataError : the data set of a run that is to be computed cannot be read; a sweep does not start without its data.
    """
    published = list(published)
    states: dict[str, str] = dict.fromkeys(store.failed(), FAILED)
    states |= {row["run_id"]: PUBLISHED if row["status"] == DONE else row["status"] for row in published}
    paces = Paces(_noting(states, store.published(), [*published, *further]))
    # Of data that is not here, a published row of the same options is taken to be of the same data.
    known = {identity(row): row["run_id"] for row in published if not force and row["status"] not in retry}
    cells = []
    for spec in runs:
        try:
            run_id = spec.run_id(fingerprint_of(spec.dataset, spec.split))
        except DataError:
            run_id = known.get(identity(spec.to_dict()), "")
            if not (run_id or without_data):
                raise
        state = states.get(run_id, MISSING) if run_id else NO_DATA
        cells.append(Cell(spec, run_id, state, *paces.estimate(spec)))
    wanted = {MISSING, NO_DATA, *retry}
    return Plan(cells, [cell for cell in cells if force or cell.state in wanted])


def outline(runs: Iterable[RunSpec], rows: Iterable[Row]) -> Plan:
    """A plan by rows alone, for which no data is read: its cells have no ids."""
    rows = list(rows)
    paces = Paces(rows)
    had = {identity(row): row["status"] for row in rows}
    cells = [Cell(spec, "", had.get(identity(spec.to_dict()), MISSING), *paces.estimate(spec)) for spec in runs]
    return Plan(cells, [cell for cell in cells if cell.state == MISSING])


@functools.lru_cache(maxsize=64)
def fingerprint_of(dataset: str, split: str) -> str:
    """The fingerprint of a data set with a split, computed once."""
    # Here, because --help need not wait for numpy and scipy.
    from lipgnn.tasks import identify

    return identify(dataset, split=split)


def _noting(states: dict[str, str], stored: Iterator[Row], others: Iterable[Row]) -> Iterator[Row]:
    """All rows one by one, so that large stores need no memory; the states of the stored ones are taken down."""
    for row in stored:
        states[row["run_id"]] = row["status"]
        yield row
    yield from others
