"""A sweep from its plan to its summary; torch is imported by its workers alone."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from lipgnn.errors import LipgnnError
from lipgnn.results.store import Store
from lipgnn.sweep.engines.events import Ended, Event, Orders
from lipgnn.sweep.plan import ARCHIVED, DIVERGED, DONE, FAILED, Plan, PlannedRun, fingerprint_of

# results.csv is rebuilt from all results, so not after every run of a large sweep.
CSV_SECONDS = 10.0
HELD_SECONDS = 2.0
# Counted among those that failed as well.
_LATE = "late"


class Engine(Protocol):
    """Something that computes runs; see lipgnn.sweep.engines."""

    orders: Orders

    def run(self, runs: Iterable[PlannedRun], should_stop: Callable[[], bool]) -> Iterator[Event]: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Summary:
    """What a sweep came to.

    Attributes
    ----------
    planned : all runs of the sweep.
    done : those with a result now, whoever computed it.
    ran : those computed by this sweep.
    failed, diverged : among those this sweep attempted.
    skipped : planned, but not attempted.
    seconds : of wall-clock time.
    timed_out : how many of those that failed took longer than the timeout.
    archive : of a study, the file of its archived rows and how many it has now.
    """

    planned: int
    done: int
    ran: int
    failed: int
    diverged: int
    skipped: int
    seconds: float
    interrupted: bool
    timed_out: int = 0
    archive: tuple[Path, int] | None = None


def run_sweep(
    plan: Plan,
    store: Store,
    engine: Engine,
    *,
    should_stop: Callable[[], bool] = lambda: False,
    fail_fast: bool = False,
) -> Iterator[Event | Summary]:
    """Compute what is to run; ends with a Summary.

    Parameters
    ----------
    should_stop : asked often; True lets running epochs finish and be saved.
    fail_fast : stop in the same way after the first failure.
    """
    began = time.monotonic()
    updated = began
    counts = dict.fromkeys((DONE, DIVERGED, FAILED, _LATE, "interrupted", "elsewhere"), 0)

    def stop() -> bool:
        return should_stop() or (fail_fast and counts[FAILED] > 0)

    for event in _rounds(plan.to_run, store, engine, stop):
        if isinstance(event, Ended):
            _take(event, counts, store)
        yield event
        if time.monotonic() - updated > CSV_SECONDS:
            store.rebuild_csv()
            updated = time.monotonic()
    store.rebuild_csv()
    states = store.states()
    ran = counts[DONE] + counts[DIVERGED]
    yield Summary(
        planned=len(plan.runs),
        done=sum(_has_result(planned, states) for planned in plan.runs),
        ran=ran,
        failed=counts[FAILED],
        diverged=counts[DIVERGED],
        skipped=len(plan.runs) - ran - counts[FAILED],
        seconds=time.monotonic() - began,
        interrupted=counts["interrupted"] > 0 or should_stop(),
        timed_out=counts[_LATE],
    )


def _take(event: Ended, counts: dict[str, int], store: Store) -> None:
    """Count a run that is over, and see to it that one that failed has its options in the store."""
    counts[event.status] += 1
    counts[_LATE] += event.timed_out
    if event.status == FAILED:
        # It may have failed before its process could write them. The sweep tells of the failure in any case.
        spec = event.planned.spec
        with contextlib.suppress(LipgnnError):
            store.run(event.planned.run_id).note_spec(spec, fingerprint_of(spec.dataset, spec.split))


def _has_result(planned: PlannedRun, states: dict[str, str]) -> bool:
    # Rows archived with the code, which may have diverged as well, are no runs of the store.
    return states.get(planned.run_id, planned.state) in (DONE, DIVERGED, ARCHIVED)


def _rounds(runs: list[PlannedRun], store: Store, engine: Engine, stop: Callable[[], bool]) -> Iterator[Event]:
    """Compute runs; those held by another sweep are asked for again until they have a result or are free."""
    while runs and not stop():
        held = []
        for event in engine.run(runs, stop):
            if isinstance(event, Ended) and event.status == "held":
                held.append(event.planned)
            else:
                yield event
        runs = []
        for planned in held:
            result = store.run(planned.run_id).result()
            if result is not None:
                yield Ended(0, planned, "elsewhere", "computed by another sweep", result)
            else:
                runs.append(planned)
        if runs:
            time.sleep(HELD_SECONDS)


def summary_json(summary: Summary) -> dict[str, Any]:
    """The closing object of `lipgnn sweep --json`."""
    return {
        "planned": summary.planned,
        "done": summary.done,
        "ran": summary.ran,
        "failed": summary.failed,
        "skipped": summary.skipped,
        "diverged": summary.diverged,
        "seconds": round(summary.seconds, 3),
    }
