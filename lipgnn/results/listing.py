"""All runs of a store, finished or not, as rows that can be chosen from and sorted. No torch here."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from pathlib import Path

from lipgnn.errors import DataError, unknown_name
from lipgnn.results.columns import COLUMNS, OPTIONAL, Row
from lipgnn.results.conditions import is_meant, split_condition
from lipgnn.results.labels import FILE, read_labels
from lipgnn.results.run import CLAIM, Run
from lipgnn.results.store import Store
from lipgnn.spec.run import FIELDS

# The states of runs that have no result.
RUNNING, FAILED, UNFINISHED = "running", "failed", "unfinished"
# What a listed run has beside the columns of results.
LISTED = (*COLUMNS, "name", "tags", "changed")


def list_runs(store: Store) -> list[Row]:
    """One row for every run, the one that changed last at the end.

    Returns
    -------
    rows with the keys of LISTED: for a run without a result its options and how far it came; `status` is then running,
    failed or unfinished. `changed` is a time in UTC, as text that sorts.

    Raises
    ------
    DataError : the files of a run are damaged.
    """
    finished = {row["run_id"]: row for row in store.finished()}
    rows = []
    for spec in store.runs_path.glob("*/spec.json"):
        run = Run(spec.parent)
        labels = read_labels(run.path)
        own = finished.get(run.id) or _without_result(run)
        rows.append({**own, "name": labels.name, "tags": labels.tags, "changed": _changed(run.path)})
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
    UsageError : an unknown field, or a condition that is none.
    """
    chosen = list(runs)
    for condition in where:
        key, texts = split_condition(condition, LISTED)
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


def _without_result(run: Run) -> Row:
    try:
        spec = json.loads(run.spec_path.read_bytes())["spec"]
        options = {name: spec.get(name, OPTIONAL.get(name)) for name in FIELDS}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DataError(
            f"Cannot read {str(run.spec_path)!r}: {error!r}.", "Remove the folder of that run, which is damaged."
        ) from error
    log = run.read_log()
    last = log[-1] if log else {}
    status = FAILED if run.failure_path.exists() else RUNNING if (run.path / CLAIM).exists() else UNFINISHED
    own = {"run_id": run.id, "status": status, "epochs_run": last.get("epoch", 0), "val_score": last.get("val_score")}
    return {**dict.fromkeys(COLUMNS), **options, **own}


def _changed(folder: Path) -> str:
    """When something in a folder changed last, beside labels."""
    paths = (path for path in folder.iterdir() if path.name != FILE)
    latest = max((path.lstat().st_mtime for path in paths), default=folder.stat().st_mtime)
    return datetime.datetime.fromtimestamp(latest, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
