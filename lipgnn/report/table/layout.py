"""What a table shows: which fields make its rows and columns, what is averaged, what is chosen, what is left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lipgnn.errors import UsageError, unknown_name
from lipgnn.report.table.values import SHOWN
from lipgnn.results.columns import COLUMNS, Row
from lipgnn.results.conditions import find_value, split_condition
from lipgnn.spec.run import FIELDS

# Fields that can make rows and columns; a run's data and version are part of what it is.
GROUPS = (*FIELDS, "fingerprint", "version")


@dataclass(frozen=True)
class Layout:
    """The plan of a table.

    Attributes
    ----------
    rows, cols : fields whose values make the rows and the columns.
    value : the number in the cells.
    over : fields whose values are averaged over.
    best : fields chosen in every cell by mean validation score.

    Raises
    ------
    UsageError : an unknown field, one field in two places, or metrics that would be averaged or chosen among.
    """

    rows: tuple[str, ...]
    cols: tuple[str, ...]
    value: str = "test_score"
    over: tuple[str, ...] = ("seed",)
    best: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        used = (*self.rows, *self.cols, *self.over, *self.best)
        for name in used:
            if name not in GROUPS:
                raise unknown_name("field", name, GROUPS)
        for name in used:
            if used.count(name) > 1:
                raise UsageError(
                    f"Field {name!r} is used {used.count(name)} times.",
                    "Name it in one of --rows, --cols, --over and --best.",
                )
        if "metric" in (*self.over, *self.best):
            raise UsageError(
                "Numbers of different metrics have no mean, and none is the best.", "Name metric in --rows or --cols."
            )
        if self.value not in SHOWN:
            raise unknown_name("value", self.value, SHOWN)


def choose_layout(
    runs: Sequence[Row],
    *,
    rows: Sequence[str] | None,
    cols: Sequence[str] | None,
    value: str,
    over: Sequence[str],
    best: Sequence[str],
) -> Layout:
    """The layout asked for; rows and columns that were not given are the usual fields that vary."""
    taken = {*(rows or ()), *(cols or ()), *over, *best}

    def usual(names: Sequence[str], fallback: str) -> tuple[str, ...]:
        free = [name for name in names if name not in taken]
        varying = [name for name in free if len({run[name] for run in runs}) > 1]
        return tuple(varying or [name for name in free if name == fallback])

    chosen_rows = tuple(rows) if rows is not None else usual(("model", "norm"), "norm")
    chosen_cols = tuple(cols) if cols is not None else usual(("dataset", "missing", "layers"), "dataset")
    return Layout(chosen_rows, chosen_cols, value, tuple(over), tuple(best))


def keep_where(runs: Iterable[Row], conditions: Iterable[str]) -> list[Row]:
    """The runs that meet every condition `key=value` or `key=value,value`.

    Raises
    ------
    UsageError : an unknown key, a value that no run has, or conditions that no run meets together.
    """
    runs, conditions = list(runs), list(conditions)
    kept = runs
    for condition in conditions:
        key, texts = split_condition(condition, COLUMNS)
        present = {run.get(key) for run in runs}
        accepted = {find_value(key, text, present) for text in texts}
        kept = [run for run in kept if run.get(key) in accepted]
    if not kept:
        raise UsageError(
            f"No run meets {' and '.join(conditions)} together.", f"Each alone is met by some of the {len(runs)} runs."
        )
    return kept
