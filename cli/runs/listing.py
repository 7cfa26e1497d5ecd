"""How `lipgnn runs` shows a list of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cli import console
from lipgnn.results.columns import Row

COLUMNS = ("run_id", "name", "status", "dataset", "model", "layers", "norm", "seed", "epochs_run", "val_score")
COLUMNS += ("test_score", "tags", "changed")
_HEADINGS = {
    **{"run_id": "run", "epochs_run": "epochs", "val_score": "validation", "test_score": "test"},
    "changed": "changed (UTC)",
}


def print_runs(runs: Sequence[Row], *, nothing: str, as_json: bool) -> None:
    """A table of runs on stdout, or all that is known of them as JSON; `nothing` is said where there are none."""
    if as_json:
        console.print_json(list(runs))
        return
    if not runs:
        console.note(nothing)
        return
    # A column in which no run has anything says nothing.
    shown = [name for name in COLUMNS if any(run[name] not in (None, ()) for run in runs)]
    console.print_table([_HEADINGS.get(name, name) for name in shown], [[_cell(run[n]) for n in shown] for run in runs])


def conditions_words(where: Sequence[str], tags: Sequence[str] = ()) -> str:
    """What runs were chosen by: status=failed and tag paper."""
    return " and ".join([*where, *(f"tag {tag}" for tag in tags)])


def _cell(value: Any) -> Any:
    return ", ".join(value) if isinstance(value, tuple) else value
