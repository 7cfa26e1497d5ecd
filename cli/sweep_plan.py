"""What `lipgnn sweep --dry-run` shows: every setting with its seeds, states and estimate, and the sum of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from cli import console
from cli.sweep_view import differing
from lipgnn.sweep.plan import DONE, STATES, Cell, Plan


def show_plan(plan: Plan, others: Mapping[str, Plan], *, as_json: bool) -> None:
    """Show a plan.

    Parameters
    ----------
    others : plans of the other scales of a study, of which only the sums are shown.
    """
    if as_json:
        cells = [
            {"run_id": c.run_id, "state": c.state, "estimate": c.estimate, "rough": c.rough, **c.spec.to_dict()}
            for c in plan.cells
        ]
        scales = {"scales": {scale: _sums(other) for scale, other in others.items()}} if others else {}
        console.print_json({**_sums(plan), **scales, "cells": cells})
        return
    names, rows = _settings(plan)
    last = ["seeds", "state", "estimate"]
    if not console.fits([*names, *last], rows):
        rows = [[" ".join(f"{n}={v}" for n, v in zip(names, row, strict=False)), *row[len(names) :]] for row in rows]
        names = ["options"]
    console.print_table([*names, *last], rows)
    console.note(_told(plan))
    for scale, other in others.items():
        console.note(f"Scale {scale}: {_told(other)}")


def _settings(plan: Plan) -> tuple[list[str], list[list[Any]]]:
    """A row for all runs that differ in nothing but their seed: the options, the seeds, states, time of what runs."""
    names = [name for name in differing(plan.cells) if name != "seed"]
    settings: dict[str, tuple[list[Any], list[Cell]]] = {}
    for cell in plan.cells:
        values = [getattr(cell.spec, name) for name in names]
        settings.setdefault(str(values), (values, []))[1].append(cell)
    running = {id(cell) for cell in plan.to_run}
    return names, [[*values, *_summary(cells, running)] for values, cells in settings.values()]


def _summary(cells: list[Cell], running: set[int]) -> list[str | None]:
    """Seeds, states and the time of what runs, None where nothing does."""
    runs = [cell for cell in cells if id(cell) in running]
    part = Plan(cells, runs)
    again = any(cell.state.startswith((DONE, "diverged", "failed")) for cell in runs)
    states = _counted(part) if len({cell.state for cell in cells}) > 1 else cells[0].state
    duration = _duration(part.seconds, rough=part.rough) if runs else None
    return [_ranges(cell.spec.seed for cell in cells), states + (" → runs" if again else ""), duration]


def _ranges(numbers: Iterable[int]) -> str:
    """0–4, 7 for 0, 1, 2, 3, 4 and 7."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _sums(plan: Plan) -> dict[str, Any]:
    counts = Counter(cell.state for cell in plan.cells)
    return {
        "planned": len(plan.cells),
        **{state: counts[state] for state in STATES},
        "seconds": plan.seconds,
        "rough": plan.rough,
        "unknown": plan.unknown,
    }


def _told(plan: Plan) -> str:
    told = _counted(plan)
    total = _duration(plan.seconds, rough=plan.rough)
    text = f"{len(plan.cells)} runs: {told}. {len(plan.to_run)} would run, one after the other in {total}"
    if plan.seconds is not None and plan.unknown:
        text += f", without {plan.unknown} of which nothing is known"
    return f"{text} (~: scaled from runs of another shape)." if plan.rough else f"{text}."


def _counted(plan: Plan) -> str:
    counts = Counter(cell.state for cell in plan.cells)
    return ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])


def _duration(seconds: float | None, *, rough: bool) -> str:
    return f"~{console.duration(seconds)}" if rough else console.duration(seconds)
