"""What `lipgnn sweep --dry-run` shows: every setting with its seeds, states and estimate, and the sum of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from cli import console
from cli.sweep_view import differing
from lipgnn.spec.grid import as_ranges
from lipgnn.sweep.plan import DIVERGED, DONE, FAILED, STATES, Plan, PlannedRun
from lipgnn.sweep.time_left import duration
from lipgnn.words import counted


def show_plan(plan: Plan, others: Mapping[str, Plan], *, as_json: bool) -> None:
    """Show a plan.

    Parameters
    ----------
    others : plans of the other scales of a study, of which only the sums are shown.
    """
    if as_json:
        runs = [
            {"run_id": c.run_id, "state": c.state, "estimate": c.estimate, "rough": c.rough, **c.spec.to_dict()}
            for c in plan.runs
        ]
        scales = {"scales": {scale: _sums(other) for scale, other in others.items()}} if others else {}
        console.print_json({**_sums(plan), **scales, "cells": runs})
        return
    names, repeats, rows = _settings(plan)
    last = [*repeats, "state", "estimate"]
    if not console.fits([*names, *last], rows):
        rows = [[" ".join(f"{n}={v}" for n, v in zip(names, row, strict=False)), *row[len(names) :]] for row in rows]
        names = ["options"]
    console.print_table([*names, *last], rows)
    console.note(_told(plan))
    for scale, other in others.items():
        console.note(f"Scale {scale}: {_told(other)}")


def _settings(plan: Plan) -> tuple[list[str], list[str], list[list[Any]]]:
    """A row for all runs that repeat one setting: its options, its splits and seeds, states, and time of what runs.

    Every seed of a row stands for a run on every split of the row. `splits` has a column where splits differ.
    """
    differ = differing(plan.runs)
    names = [name for name in differ if name not in ("seed", "split")]
    repeats = (["split"] if "split" in differ else []) + ["seed"]
    settings: dict[str, tuple[list[Any], dict[str, list[PlannedRun]]]] = {}
    for planned in plan.runs:
        values = [getattr(planned.spec, name) for name in names]
        settings.setdefault(str(values), (values, {}))[1].setdefault(planned.spec.split, []).append(planned)
    running = {id(planned) for planned in plan.to_run}
    rows = []
    for values, by_split in settings.values():
        for runs in _with_same_seeds(by_split):
            repeated = [as_ranges(getattr(planned.spec, name) for planned in runs) for name in repeats]
            rows.append([*values, *repeated, *_summary(runs, running)])
    return names, [f"{name}s" for name in repeats], rows


def _with_same_seeds(by_split: Mapping[str, list[PlannedRun]]) -> list[list[PlannedRun]]:
    rows: dict[frozenset[int], list[PlannedRun]] = {}
    for runs in by_split.values():
        rows.setdefault(frozenset(planned.spec.seed for planned in runs), []).extend(runs)
    return list(rows.values())


def _summary(runs: list[PlannedRun], running: set[int]) -> list[str | None]:
    """States and the time of what runs, None where nothing does."""
    part = Plan(runs, [planned for planned in runs if id(planned) in running])
    again = any(planned.state.startswith((DONE, DIVERGED, FAILED)) for planned in part.to_run)
    states = _counted(part) if len({planned.state for planned in runs}) > 1 else runs[0].state
    duration = _duration(part.seconds, rough=part.rough) if part.to_run else None
    return [states + (" → runs" if again else ""), duration]


def _sums(plan: Plan) -> dict[str, Any]:
    counts = Counter(planned.state for planned in plan.runs)
    return {
        "planned": len(plan.runs),
        **{state: counts[state] for state in STATES},
        "seconds": plan.seconds,
        "rough": plan.rough,
        "unknown": plan.unknown,
    }


def _told(plan: Plan) -> str:
    told = _counted(plan)
    total = _duration(plan.seconds, rough=plan.rough)
    text = f"{counted(len(plan.runs), 'run')}: {told}. {len(plan.to_run)} would run, one after the other in {total}"
    if plan.seconds is not None and plan.unknown:
        text += f", without {plan.unknown} of which nothing is known"
    return f"{text} (~: scaled from runs of another shape)." if plan.rough else f"{text}."


def _counted(plan: Plan) -> str:
    counts = Counter(planned.state for planned in plan.runs)
    return ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])


def _duration(seconds: float | None, *, rough: bool) -> str:
    return f"~{duration(seconds)}" if rough else duration(seconds)
