"""The plan of a sweep: every run with its id, what the store has of it, and how long it may take. No torch here."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from lipgnn.spec import RunSpec
from lipgnn.store import Store

DONE, DIVERGED, FAILED, MISSING = "done", "diverged", "failed", "to do"
RETRIES = (FAILED, DIVERGED)


@dataclass(frozen=True)
class Cell:
    """One run of a sweep.

    Attributes
    ----------
    state : what the store has of it: "done", "diverged", "failed" or "to do".
    estimate : seconds it may take, from past runs on the same data set; None where there are none.
    """

    spec: RunSpec
    run_id: str
    state: str
    estimate: float | None


@dataclass(frozen=True)
class Plan:
    """All runs of a sweep, and which of them are to be computed."""

    cells: list[Cell]
    to_run: list[Cell]

    @property
    def seconds(self) -> float | None:
        """Estimated time of all that is to run, one after the other; None if some of it is unknown."""
        estimates = [cell.estimate for cell in self.to_run]
        return None if None in estimates else sum(estimates)


def make_plan(runs: Iterable[RunSpec], store: Store, *, retry: Collection[str] = (), force: bool = False) -> Plan:
    """Look up every run in the store.

    Parameters
    ----------
    retry : states to compute again: "failed", "diverged".
    force : compute everything again.

    Raises
    ------
    DataError : a data set cannot be read; a sweep does not start without its data.
    """
    states, paces = _history(store)
    cells = []
    for spec in runs:
        run_id = spec.run_id(fingerprint_of(spec.dataset, spec.split))
        cells.append(Cell(spec, run_id, states.get(run_id, MISSING), _estimate(spec, paces)))
    wanted = {MISSING, *retry}
    return Plan(cells, [cell for cell in cells if force or cell.state in wanted])


@functools.lru_cache(maxsize=64)
def fingerprint_of(dataset: str, split: str) -> str:
    """The fingerprint of a data set with a split, computed once."""
    # Here, because --help need not wait for numpy and scipy.
    from lipgnn.datasets import load

    return load(dataset, split=split).fingerprint


def _history(store: Store) -> tuple[dict[str, str], dict[tuple[str, str], tuple[float, float]]]:
    """How every run ended, and paces of the past; the results are read once and let go.

    Returns
    -------
    states by run id.
    for (data set, model) : seconds an epoch and layer, and the share of its epochs a run uses; medians.
    """
    states = dict.fromkeys(store.failed(), FAILED)
    past: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in store.published():
        states[row["run_id"]] = row["status"]
        if row["seconds_per_epoch"]:
            pace = row["seconds_per_epoch"] / row["layers"], row["epochs_run"] / row["epochs"]
            past.setdefault((row["dataset"], row["model"]), []).append(pace)
    paces = {key: tuple(map(statistics.median, zip(*values, strict=True))) for key, values in past.items()}
    return states, paces


def _estimate(spec: RunSpec, paces: dict[tuple[str, str], tuple[float, float]]) -> float | None:
    if (spec.dataset, spec.model) not in paces:
        return None
    pace, share = paces[spec.dataset, spec.model]
    return pace * spec.layers * spec.epochs * share
