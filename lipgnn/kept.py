"""The rows of a study that are kept with the code, in studies/NAME.csv of the folder of results. No torch here.

They count as results in every clone, so hours of computing add up: a sweep adds the rows of its runs to the file and
never drops one.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lipgnn.files import ensure_writable, write_atomic
from lipgnn.report.rows import Row, read_results
from lipgnn.store import Store, to_csv
from lipgnn.study import Study, identity


def kept_path(results: Path, study: str) -> Path:
    """The file of a study in a folder of results."""
    return results / "studies" / f"{study}.csv"


def read_kept(path: Path) -> list[Row]:
    """The rows of a file; none where there is no file.

    Raises
    ------
    DataError : a value, row or column that cannot be used.
    """
    return read_results([path]).rows if path.exists() else []


def read_all_kept(results: Path) -> list[Row]:
    """The rows of all studies in a folder of results."""
    return [row for path in sorted((results / "studies").glob("*.csv")) for row in read_kept(path)]


def keep(results: Path, study: Study, *, anew: Iterable[str] = ()) -> tuple[Path, int]:
    """Add the finished runs of a study to its file.

    Only runs as the study says count, of every scale and protocol; runs with options changed on the way do not.

    Parameters
    ----------
    anew : ids of runs that were computed again; for these the store's row takes the place of the kept one.

    Returns
    -------
    the file, and how many rows it has now.
    """
    path = kept_path(results, study.name)
    known = dict.fromkeys(key for choice in study.choices() for key in choice.identities())
    order = {key: number for number, key in enumerate(known)}
    anew = set(anew)
    rows = {row["run_id"]: row for row in read_kept(path)}
    for row in Store(results).published():
        if identity(row) in order and (row["run_id"] not in rows or row["run_id"] in anew):
            rows[row["run_id"]] = row
    # A stable sort: rows that are no part of the study stay behind the others as they were.
    ordered = sorted(rows.values(), key=lambda row: order.get(identity(row), len(order)))
    if ordered:
        ensure_writable(path.parent)
        content = to_csv(ordered)
        if not path.exists() or path.read_bytes() != content:
            write_atomic(path, content)
    return path, len(ordered)
