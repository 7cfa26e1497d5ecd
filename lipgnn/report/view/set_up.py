"""How large the networks of a table are and how long they may train; a published number is not shown without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lipgnn.report.table.cells import Table


def set_up_of(runs: Sequence[Mapping[str, Any]]) -> str:
    """Heads, their width and the largest number of epochs; nothing where there are no runs."""
    if not runs:
        return ""
    widths = sorted({(run["heads"], run["hidden"]) for run in runs})
    epochs = sorted({run["epochs"] for run in runs})
    span = str(epochs[0]) if len(epochs) == 1 else f"{epochs[0]}–{epochs[-1]}"
    return f"{' or '.join(f'{heads} × {hidden}' for heads, hidden in widths)}, {span} epochs"


def common_set_up(table: Table) -> str | None:
    """The set-up of all cells; None where they differ, or where there is none."""
    texts = {text for cell in table.cells.values() if (text := set_up_of(cell.runs))}
    return texts.pop() if len(texts) == 1 else None
