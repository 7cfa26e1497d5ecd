"""`lipgnn.sweep`: a grid of runs, planned, computed and gone on with by one and the same call. No torch here."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lipgnn.api.display import StatusLine, facts_html
from lipgnn.api.libraries import as_data
from lipgnn.api.places import Place, options_of, plain, store_at
from lipgnn.api.reporting import Table, report
from lipgnn.api.run import Run
from lipgnn.catalog import cautions, installed_trackers
from lipgnn.datasets.locate import settled
from lipgnn.errors import UsageError, unknown_name
from lipgnn.results.store import Store
from lipgnn.spec.grid import parse_list
from lipgnn.spec.run import FIELDS, parse_value
from lipgnn.sweep.engines.events import Ended, Event
from lipgnn.sweep.execute import Means, execute
from lipgnn.sweep.prepare import Prepared, SweepRequest, prepare
from lipgnn.sweep.run import Summary
from lipgnn.sweep.time_left import TimeLeft, duration

if TYPE_CHECKING:
    import pandas


class Sweep:
    """A grid of runs.

    Attributes
    ----------
    prepared : the plan as the rest of the library has it.
    summary : what came of it: how many ran, failed, diverged; None where it was only planned.
    failures : for every run that failed, its id and the reason.
    """

    def __init__(self, prepared: Prepared, summary: Summary | None, failures: Mapping[str, str]):
        self.prepared, self.summary, self.failures = prepared, summary, dict(failures)

    @property
    def ids(self) -> list[str]:
        """The ids of all of its runs, whether they are computed or not."""
        return [planned.run_id for planned in self.prepared.plan.runs]

    @property
    def runs(self) -> list[Run]:
        """Those of its runs that are finished."""
        folders = map(self._store.run, self.ids)
        return [Run(folder) for folder in folders if folder.result_path.exists()]

    @property
    def _store(self) -> Store:
        return Store(self.prepared.request.results)

    def to_pandas(self) -> pandas.DataFrame:
        """A row for every run: its id, its state when it was planned, the seconds it may take, and its options."""
        import pandas

        rows = [
            {"run_id": one.run_id, "state": one.state, "estimate": one.estimate, **one.spec.to_dict()}
            for one in self.prepared.plan.runs
        ]
        return pandas.DataFrame(rows)

    def report(self, **layout: Any) -> Table:
        """A table of just these runs; `layout` as in `lipgnn.report`.

        Raises
        ------
        UsageError : none of them is finished, or as there.
        """
        finished = [run.id for run in self.runs]
        if not finished:
            raise UsageError("No run of this sweep is finished.", "Compute it first, without dry_run.")
        return report(results=self._store.root, where={"run_id": finished}, **layout)

    def _facts(self) -> list[tuple[str, Any]]:
        states = Counter(one.state for one in self.prepared.plan.runs)
        facts = [("runs", len(self.ids)), ("before", ", ".join(f"{n} {state}" for state, n in states.items()))]
        if self.summary is None:
            return [*facts, ("estimated seconds", self.prepared.plan.seconds)]
        own = self.summary
        counts = [("computed", own.ran), ("failed", own.failed), ("diverged", own.diverged), ("finished", own.done)]
        return [*facts, *counts, ("seconds", round(own.seconds, 1)), ("results", str(self._store.csv_path))]

    def __repr__(self) -> str:
        return f"<Sweep: {', '.join(f'{name} {value}' for name, value in self._facts())}>"

    def _repr_html_(self) -> str:
        return facts_html("Sweep", [*self._facts(), *((f"failed {one}", why) for one, why in self.failures.items())])


def sweep(
    data: str | Sequence[str] | None = None,
    *,
    results: Place | None = None,
    file: Place | None = None,
    study: str | None = None,
    scale: str | None = None,
    protocol: str | None = None,
    preset: str | None = None,
    retry: str | Sequence[str] = (),
    force: bool = False,
    max_runs: int | None = None,
    shuffle: bool = False,
    name: str | None = None,
    tags: str | Sequence[str] = (),
    dry_run: bool = False,
    progress: bool | None = None,
    on_event: Callable[[Event], None] | None = None,
    engine: str = "local",
    address: str | None = None,
    jobs: int | None = None,
    threads: int | None = None,
    timeout: float | None = None,
    save_every: int = 10,
    fail_fast: bool = False,
    log: str | Sequence[str] = (),
    **options: Any,
) -> Sweep:
    """Compute all combinations of options; the same call again computes only what is missing.

    Parameters
    ----------
    data : the name or path of a data set, or several. Runs are computed by processes of their own, so data in memory
        has to be saved first, with `save`.
    results : the store; by default that of the command line.
    file, study, scale, protocol, preset : a grid as a TOML file, or a study that ships, as on the command line.
    retry : compute runs again that "failed" or "diverged".
    force : compute every run again.
    max_runs, shuffle : compute at most so many runs, and in random order.
    name, tags : what to call the sweep (`lipgnn report --sweep NAME`), and labels for all of its runs.
    dry_run : plan and compute nothing.
    progress : show a line that tells how far it is; None shows it at a terminal and in a notebook.
    on_event : called with everything that happens (see `lipgnn.sweep.engines.events`).
    engine, address : local, ray or slurm, and where.
    log : trackers that the runs are logged by, as in `train`.
    jobs, threads, timeout, save_every, fail_fast : as on the command line.
    options : any option of `lipgnn train` as a value, a list, a range, or a text such as "2,5,10-30:5"; `seeds` is
        another name of `seed`.

    Returns
    -------
    the sweep, whose `report` makes a table of just these runs. Failures are in `failures`, with a warning.

    Raises
    ------
    UsageError : an unknown option or value, or no combination that is a run.
    DataError : the data of a run is not here.

    Examples
    --------
    >>> import lipgnn
    >>> plan = lipgnn.sweep("planted", layers=[2, 4], norm=["none", "lip"], seeds=range(3), epochs=2, dry_run=True)
    >>> len(plan.ids)
    12
    """
    which = {"study": study, "scale": scale, "protocol": protocol, "preset": preset, "force": force}
    which |= {"max_runs": max_runs, "shuffle": shuffle, "file": None if file is None else Path(file)}
    which |= {"name": name, "tags": (tags,) if isinstance(tags, str) else tuple(tags)}
    states = (retry,) if isinstance(retry, str) else tuple(retry)
    request = SweepRequest(store_at(results).root, _lists(data, options), retry=states, **which)
    prepared = prepare(request, os.environ, only_shown=dry_run)
    for sentence in (*prepared.left_out, *cautions(planned.spec.dataset for planned in prepared.plan.runs)):
        warnings.warn(sentence, stacklevel=2)
    if dry_run:
        return Sweep(prepared, None, {})
    names = installed_trackers((log,) if isinstance(log, str) else log, warnings.warn)
    means = Means(engine, address, jobs, threads, timeout, save_every, fail_fast, names)
    return _computed(prepared, means, progress, on_event)


def _lists(data: Any, options: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The values of every option."""
    given = options_of({name: value for name, value in options.items() if name != "seeds"})
    if "seeds" in options:
        given["seed"] = options["seeds"]
    if data is not None:
        names = [as_data(one) for one in (data if isinstance(data, list | tuple) else [data])]
        if not all(isinstance(name, str) for name in names):
            raise UsageError(
                "A sweep computes its runs in processes of their own, which data in memory does not reach.",
                "Save it first: lipgnn.save(data, 'mine.npz'), then lipgnn.sweep('mine.npz', …).",
            )
        given["dataset"] = [settled(name) for name in names]
    for name in given:
        if name not in FIELDS:
            raise unknown_name("option", name, FIELDS)
    return {name: _values(name, value) for name, value in given.items()}


def _values(name: str, value: Any) -> list[Any]:
    if isinstance(value, str):
        return parse_list(name, value)
    values = value if isinstance(value, Iterable) else [value]
    return [parse_value(name, plain(one)) for one in values]


def _computed(
    prepared: Prepared, means: Means, progress: bool | None, on_event: Callable[[Event], None] | None
) -> Sweep:
    total, ended, failures = len(prepared.plan.to_run), 0, {}
    summary = None
    means = means.shared_by(total)
    began, left = time.monotonic(), TimeLeft(prepared.plan.to_run, means.jobs)
    with StatusLine(progress) as line, contextlib.closing(execute(prepared, means)) as events:
        for event in events:
            if isinstance(event, Summary):
                summary = event
                continue
            left.take(event)
            if isinstance(event, Ended):
                ended += 1
                if event.status == "failed":
                    failures[event.planned.run_id] = event.reason or "unknown"
            time_left = duration(left.seconds(time.monotonic() - began))
            line.say(f"{ended} of {total} runs, {time_left} left", share=left.share, at_once=ended == total)
            if on_event is not None:
                on_event(event)
    if failures:
        warnings.warn(f"{len(failures)} of {total} runs failed; `failures` says why.", stacklevel=3)
    return Sweep(prepared, summary, failures)
