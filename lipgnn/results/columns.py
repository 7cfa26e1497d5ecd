"""The columns of a result: of which type they are, and values that cannot be. No torch here."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from lipgnn.catalog import MEASURES
from lipgnn.errors import DataError
from lipgnn.spec.run import FIELDS

Row = dict[str, Any]

RESULT_FIELDS = (
    "run_id",
    "status",
    "epochs_run",
    "best_epoch",
    "epochs_to_90",
    "train_score",
    "val_score",
    "test_score",
    "last_test_score",
    "train_loss",
    "val_loss",
    "max_grad_norm",
    "parameters",
    "seconds",
    "seconds_per_epoch",
    "peak_memory_mb",
    "threads",
    "fingerprint",
    "version",
    "command",
    "objective",
    "sent_mb",
    "dense_mb",
)
COLUMNS = (*FIELDS, *RESULT_FIELDS, *MEASURES)
# What a file need not have a column for, with the value that a run then has: options that change nothing (see
# `lipgnn.spec.options.option`), what runs of one task have alone, and numbers that are younger than others.
OPTIONAL: dict[str, Any] = {
    **{name: field.metadata["neutral"] for name, field in FIELDS.items() if "neutral" in field.metadata},
    **dict.fromkeys(("objective", "sent_mb", "dense_mb", *MEASURES)),
}
RUN_ID = re.compile("[0-9a-f]{12}")
KINDS: dict[str, type] = {
    **{name: {"str": str, "int": int, "float": float}[field.type] for name, field in FIELDS.items()},
    **dict.fromkeys((*RESULT_FIELDS, *MEASURES), float),
    **dict.fromkeys(("epochs_run", "best_epoch", "epochs_to_90", "parameters", "threads"), int),
    **dict.fromkeys(("run_id", "status", "fingerprint", "version", "command"), str),
}
# The numbers of a run that a table can show, and those among them that are of the metric of its data.
VALUES = tuple(name for name in (*RESULT_FIELDS, *MEASURES) if KINDS[name] is not str)
SCORES = tuple(name for name in VALUES if name.endswith("_score"))
_REQUIRED = (*(name for name in FIELDS if name not in OPTIONAL), "run_id", "status")
# Whole numbers are below it, as those of other programs are.
_MOST = 2**63


def checked(raw: Row, place: str, remedy: str) -> Row:
    """The row with every column converted to its type.

    Parameters
    ----------
    place, remedy : where the row is from and what to do about it, for messages.

    Raises
    ------
    DataError : a column is missing, or its value cannot be.
    """
    row = {}
    for name, kind in KINDS.items():
        try:
            value = raw.get(name, OPTIONAL[name]) if name in OPTIONAL else raw[name]
            row[name] = value if type(value) is kind is str and value else _convert(kind, value)
        except KeyError:
            raise DataError(f"{place} has no {name!r}.", remedy) from None
        except (TypeError, ValueError, OverflowError):
            wanted = {str: "a text", int: "a whole number", float: "a finite number"}[kind]
            raise DataError(f"{place}, column {name!r}: {_shown(value)} is not {wanted}.", remedy) from None
    for name, problem in _problems(row):
        raise DataError(f"{place}, column {name!r}: {problem}.", remedy)
    return row


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**80 else "a number of more than 80 digits"
    return text if len(text) <= 80 else f"{text[:79]}…"


def _convert(kind: type, value: Any) -> Any:
    if value is None or value == "":
        return None
    if kind is str or isinstance(value, bool):
        raise TypeError
    if type(value) is kind is int and abs(value) < _MOST:
        return value
    number = float(value)
    if not math.isfinite(number):
        raise ValueError
    if kind is float:
        return number
    if not number.is_integer() or abs(number) >= _MOST:
        raise ValueError
    return int(number)


def _problems(row: Row) -> Iterator[tuple[str, str]]:
    """Columns whose value has the right type and still cannot be."""
    for name in _REQUIRED:
        if row[name] is None or row[name] == "":
            yield name, "empty"
    if not RUN_ID.fullmatch(row["run_id"] or ""):
        yield "run_id", f"{(row['run_id'] or '')[:80]!r} is not an id of 12 digits 0-9 and a-f"
    if row["status"] not in ("done", "diverged"):
        yield "status", f"{row['status']!r} is neither 'done' nor 'diverged'"
    for name in SCORES:
        if row[name] is None:
            if row["status"] == "done" and name not in OPTIONAL:
                yield name, "empty, though the run is done"
        elif not 0 <= row[name] <= 1:
            yield name, f"score {row[name]!r} is not between 0 and 1"
