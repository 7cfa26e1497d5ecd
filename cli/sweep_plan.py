"""What `lipgnn sweep --dry-run` shows: every run with its state and estimate, and the sum of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from cli import console
from cli.sweep_view import describe
from lipgnn.plan import DONE, STATES, Cell, Plan


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
    names, rows = describe(plan.cells)
    running = {id(cell) for cell in plan.to_run}
    table = (
        [*row, cell.run_id, _state(cell, id(cell) in running), _duration(cell.estimate, rough=cell.rough)]
        for row, cell in zip(rows, plan.cells, strict=True)
    )
    console.print_table([*names, "run", "state", "estimate"], table)
    console.note(_told(plan))
    for scale, other in others.items():
        console.note(f"Scale {scale}: {_told(other)}")


def _state(cell: Cell, runs: bool) -> str:
    return cell.state + (" → runs" if runs and cell.state.startswith((DONE, "diverged", "failed")) else "")


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
    counts = Counter(cell.state for cell in plan.cells)
    told = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    total = _duration(plan.seconds, rough=plan.rough)
    text = f"{len(plan.cells)} runs: {told}. {len(plan.to_run)} would run, one after the other in {total}"
    if plan.seconds is not None and plan.unknown:
        text += f", without {plan.unknown} of which nothing is known"
    return f"{text} (~: scaled from runs of another shape)." if plan.rough else f"{text}."


def _duration(seconds: float | None, *, rough: bool) -> str:
    return f"~{console.duration(seconds)}" if rough else console.duration(seconds)
