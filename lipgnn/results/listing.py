"""All runs of a store, finished or not, as rows that can be chosen from and sorted. No torch here."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from pathlib import Path

from lipgnn.errors import DataError, unknown_name
from lipgnn.results.columns import COLUMNS, OPTIONAL, Row
from lipgnn.results.conditions import find_value, is_meant, split_condition
from lipgnn.results.labels import FILE, read_labels
from lipgnn.results.run import CLAIM, Run
from lipgnn.results.store import Store, row_of
from lipgnn.spec.run import FIELDS
from lipgnn.words import unreadable

# The states of runs that have a result, and of those that have none that can be read.
ENDED = ("done", "diverged")
RUNNING, FAILED, UNFINISHED, DAMAGED = "running", "failed", "unfinished", "damaged"
_STATES = (*ENDED, RUNNING, FAILED, UNFINISHED, DAMAGED)
# What a listed run has beside the columns of results.
LISTED = (*COLUMNS, "name", "tags", "changed")


def list_runs(store: Store) -> list[Row]:
    """One row for every run, the one that changed last at the end.

    Returns
    -------
    rows with the keys of LISTED: for a run without a result its options, as far as they are known, and how far it came;
    `status` is then running, failed, unfinished, or damaged where a file of it cannot be read. `changed` is a time in
    UTC, as text that sorts.

    Raises
    ------
    DataError : the labels of a run are damaged.
    """
    rows = []
    for run in store.runs():
        labels = read_labels(run.path)
        rows.append({**_row(run), "name": labels.name, "tags": labels.tags, "changed": _changed(run.path)})
    return sorted(rows, key=lambda row: (row["changed"], row["run_id"]))


def choose_runs(
    runs: Sequence[Row], *, where: Sequence[str] = (), tags: Sequence[str] = (), sort: str | None = None
) -> list[Row]:
    """Those of some runs that meet all conditions, maybe in another order.

    Parameters
    ----------
    where : conditions `key=value` or `key=value,value`; values are compared as texts, or as numbers.
    tags : tags that a run must have.
    sort : a field, those without a value last; a leading - reverses the order.

    Raises
    ------
    UsageError : an unknown field, a condition that is none, or a value that no run has and that is no state of one.
    """
    chosen = list(runs)
    for condition in where:
        key, texts = split_condition(condition, LISTED)
        present = {run[key] for run in runs} | set(_STATES if key == "status" else ())
        for text in texts if runs else ():
            find_value(key, text, present)
        chosen = [run for run in chosen if any(is_meant(key, text, run[key]) for text in texts)]
    chosen = [run for run in chosen if set(tags) <= set(run["tags"])]
    if sort is not None:
        name = sort.removeprefix("-")
        if name not in LISTED:
            raise unknown_name("field to sort by", name, LISTED)
        known = [run for run in chosen if run[name] is not None]
        known.sort(key=lambda run: run[name], reverse=sort.startswith("-"))
        chosen = [*known, *(run for run in chosen if run[name] is None)]
    return chosen


def damage_of(run: Run) -> str | None:
    """What is wrong with the files of a run; None where nothing is."""
    try:
        _read(run)
    except DataError as error:
        return error.message
    return None


def _row(run: Run) -> Row:
    try:
        return _read(run)
    except DataError:
        return {**dict.fromkeys(COLUMNS), "run_id": run.id, "status": DAMAGED}


def _read(run: Run) -> Row:
    return row_of(run.result_path) if run.result_path.exists() else _without_result(run)


def _without_result(run: Run) -> Row:
    log = run.read_log()
    last = log[-1] if log else {}
    status = FAILED if run.failure_path.exists() else RUNNING if (run.path / CLAIM).exists() else UNFINISHED
    own = {"run_id": run.id, "status": status, "epochs_run": last.get("epoch", 0), "val_score": last.get("val_score")}
    return {**dict.fromkeys(COLUMNS), **_options(run), **own}


def _options(run: Run) -> Row:
    """The options of a run; none of one that failed before they were written."""
    try:
        spec = json.loads(run.spec_path.read_bytes())["spec"]
        return {name: spec.get(name, OPTIONAL.get(name)) for name in FIELDS}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DataError(
            f"Cannot read {str(run.spec_path)!r}: {unreadable(error)}.",
            "Remove the folder of that run, which is damaged.",
        ) from error


def _changed(folder: Path) -> str:
    """When something in a folder changed last, beside labels."""
    paths = (path for path in folder.iterdir() if path.name != FILE)
    latest = max((path.lstat().st_mtime for path in paths), default=folder.stat().st_mtime)
    return datetime.datetime.fromtimestamp(latest, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
