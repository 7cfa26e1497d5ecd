"""From a request to a plan: a study, a file or lists of values become runs, looked up in the store. No torch here."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lipgnn.errors import UsageError, unknown_name
from lipgnn.results.archive import archive_path, read_all_archives, read_archive
from lipgnn.results.columns import Row
from lipgnn.results.labels import check_label
from lipgnn.results.store import Store
from lipgnn.results.sweeps import check_sweep_name
from lipgnn.spec.grid import Grid, read_grid, runs_of
from lipgnn.spec.run import RunSpec
from lipgnn.spec.study import Choice, check_within_study, read_study
from lipgnn.sweep.plan import RETRIES, Plan, make_plan, outline

Lists = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class SweepRequest:
    """Which runs a sweep is to compute.

    Attributes
    ----------
    results : the folder of results: the store, and the archives of studies.
    lists : the values of options, by name. They take the place of the file's, or choose within the study.
    file : a grid as a TOML file (see `lipgnn.spec.grid`).
    study, scale, protocol : a study that ships, and which part of it.
    preset : values by depth where none are given.
    retry : which runs that ended are computed again: "failed", "diverged".
    force : everything is computed again.
    max_runs : at most so many runs are computed.
    shuffle : the runs are computed in random order.
    name : what the sweep is called, to report it alone.
    tags : given to all its runs.
    """

    results: Path
    lists: Lists = field(default_factory=dict)
    file: Path | None = None
    study: str | None = None
    scale: str | None = None
    protocol: str | None = None
    preset: str | None = None
    retry: tuple[str, ...] = ()
    force: bool = False
    max_runs: int | None = None
    shuffle: bool = False
    name: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Prepared:
    """A sweep that can be shown, or handed to `lipgnn.sweep.execute.execute`.

    Attributes
    ----------
    plan : all runs, and which of them are to be computed.
    choice : the study at its scale and protocol; None where the sweep is of no study.
    left_out : why some combinations of values are no runs, a sentence each.
    other_scales : plans of the study's other scales, of a sweep that is only shown.
    """

    request: SweepRequest
    plan: Plan
    choice: Choice | None
    left_out: list[str]
    other_scales: dict[str, Plan]

    @property
    def notes(self) -> list[str]:
        """What a reader should know beside the plan, a line each."""
        return [*([self.choice.heading] if self.choice else []), *self.left_out]


def prepare(request: SweepRequest, environ: Mapping[str, str], *, only_shown: bool = False) -> Prepared:
    """Turn a request into a plan; nothing is written.

    Parameters
    ----------
    environ : the process environment, from which values may come (see `lipgnn.spec.sources`).
    only_shown : the plan will not be computed. It then has runs of a study whose data is not here, estimates from the
        archives of all studies, and the study's other scales.

    Raises
    ------
    UsageError : an unknown name or option, options that exclude each other, or no run at all.
    DataError : the data of a run is not here.
    """
    if request.name is not None:
        check_sweep_name(request.name)
    for tag in request.tags:
        check_label("tag", tag)
    choice = _chosen_study(request)
    runs, left_out = _runs(request, choice, environ)
    store = Store(request.results)
    archived = read_archive(archive_path(request.results, request.study)) if request.study else []
    further = read_all_archives(request.results) if only_shown else []
    plan = make_plan(
        runs,
        store,
        archived=archived,
        further=further,
        retry=_checked_retries(request.retry),
        force=request.force,
        # The data of a study may be far away; what it would cost can be told all the same.
        without_data=only_shown and choice is not None,
    )
    others = {}
    if only_shown and choice:
        others = _other_scales(choice, request.lists, environ, [*store.finished(), *further])
    return Prepared(request, _limited(plan, request), choice, left_out, others)


def _chosen_study(request: SweepRequest) -> Choice | None:
    check_within_study(request.study, request.scale, request.protocol)
    if request.study is None:
        return None
    if request.file:
        raise UsageError("A sweep takes a file or a study, not both.")
    choice = read_study(request.study).choose(request.scale, request.protocol)
    if request.preset:
        raise UsageError("A study says itself what its runs are, and takes no preset.", "Leave --preset out.")
    return choice


def _runs(request: SweepRequest, choice: Choice | None, environ: Mapping[str, str]) -> tuple[list[RunSpec], list[str]]:
    if choice:
        return choice.runs(environ, request.lists)
    grid = (read_grid(request.file) if request.file else Grid()).with_values(request.lists)
    return runs_of([grid], environ, request.preset)


def _checked_retries(words: Sequence[str]) -> Sequence[str]:
    for word in words:
        if word not in RETRIES:
            raise unknown_name("state to retry", word, RETRIES)
    return words


def _limited(plan: Plan, request: SweepRequest) -> Plan:
    to_run = list(plan.to_run)
    if request.shuffle:
        random.shuffle(to_run)
    return Plan(plan.runs, to_run[: request.max_runs])


def _other_scales(choice: Choice, lists: Lists, environ: Mapping[str, str], rows: list[Row]) -> dict[str, Plan]:
    """What the same options would be at the study's other scales, by rows alone: their data may not be here."""
    others = [other for other in choice.study.choices() if other.protocol == choice.protocol]
    return {
        other.scale: outline(other.runs(environ, lists)[0], rows) for other in others if other.scale != choice.scale
    }
