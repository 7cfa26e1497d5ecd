"""The archive: rows of studies that stand with the code, in studies/NAME.csv of the folder of results. No torch here.

They count as results in every clone, so hours of computing add up: a sweep adds the rows of its runs to the file and
never drops one. What runs of a study recorded is in studies/NAME/, a file a run.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

import lipgnn
from lipgnn.errors import UsageError
from lipgnn.files import ensure_writable, write_atomic
from lipgnn.results.columns import Row
from lipgnn.results.recordings import archive_recordings
from lipgnn.results.rows import Results, read_results
from lipgnn.results.store import Store, to_csv
from lipgnn.spec.study import Choice, Study, identity


def archive_path(results: Path, study: str) -> Path:
    """The file of a study in the archive of a folder of results."""
    return results / "studies" / f"{study}.csv"


def kept_folder() -> Path:
    """The archive that ships: inside an installed package, or that of the checkout which the package stands in."""
    package = Path(lipgnn.__file__).parent
    installed = package / "kept"
    return installed if installed.is_dir() else package.parent / "results" / "studies"


def read_archive(path: Path) -> list[Row]:
    """The rows of a file of the archive; none where there is no file.

    Raises
    ------
    DataError : a value, row or column that cannot be used.
    """
    return read_results([path]).rows if os.path.exists(path) else []


def read_all_archives(results: Path) -> list[Row]:
    """The archived rows of all studies in a folder of results."""
    return [row for path in sorted((results / "studies").glob("*.csv")) for row in read_archive(path)]


def add_to_archive(results: Path, study: Study, *, anew: Iterable[str] = ()) -> tuple[Path, int]:
    """Add the finished runs of a study to its file in the archive.

    Only runs as the study says count, of every scale and protocol; runs with options changed on the way do not.

    Parameters
    ----------
    anew : ids of runs that were computed again; for these the store's row takes the place of the archived one.

    Returns
    -------
    the file, and how many rows it has now.
    """
    path = archive_path(results, study.name)
    known = dict.fromkeys(key for choice in study.choices() for key in choice.identities())
    order = {key: number for number, key in enumerate(known)}
    anew = set(anew)
    rows = {_key(row): row for row in read_archive(path)}
    for row in Store(results).finished():
        if identity(row) in order and (_key(row) not in rows or row["run_id"] in anew):
            rows[_key(row)] = row
    # A stable sort: rows that are no part of the study stay behind the others as they were.
    ordered = sorted(rows.values(), key=lambda row: order.get(identity(row), len(order)))
    if ordered:
        ensure_writable(path.parent)
        content = to_csv(ordered)
        if not path.exists() or path.read_bytes() != content:
            write_atomic(path, content)
        if study.record:
            archive_recordings(Store(results), (row["run_id"] for row in ordered), path.with_suffix(""))
    return path, len(ordered)


def results_of_study(
    study: Study, results: Path, sources: Sequence[Path] = (), *, scale: str | None = None, protocol: str | None = None
) -> tuple[Results, Choice]:
    """The results of a study at one scale by one protocol; the default scale is the first that has any.

    Parameters
    ----------
    results : a folder of results: the archived rows of the study, and the runs of the store that are its own. Where the
        folder has neither, the rows that ship with the program take their place, and a note says so.
    sources : stores and CSV files to read instead.

    Raises
    ------
    UsageError : there are none; the hint says what computes them.
    """
    found = read_results(sources) if sources else _archived_and_stored(study, results)
    choices = [study.choose(scale, protocol)]
    if scale is None:
        choices += [study.choose(name, protocol) for name in study.parts if name and name != choices[0].scale]
    if study.parts.keys() == {None} and not study.protocols:
        # A plain grid: its file has nothing to tell apart, and may have rows with other options beside it.
        chosen = {choices[0]: found.rows}
    else:
        chosen = {choice: _rows_of(choice, found.rows) for choice in choices}
    for choice, rows in chosen.items():
        if rows:
            return Results(rows, found.stores, found.notes, found.files), choice
    where = ", ".join(repr(str(source)) for source in sources or (archive_path(results, study.name), results))
    words = shlex.join(["lipgnn", "sweep", *choices[0].words()])
    raise UsageError(f"No results of study {study.name!r} in {where}.", f"Compute them: {words}")


def _archived_and_stored(study: Study, results: Path) -> Results:
    """Archived rows first: they are those that the pages show. Where a folder has none at all, those that ship."""
    path, kept = archive_path(results, study.name), kept_folder() / f"{study.name}.csv"
    archived = read_results([path]) if os.path.exists(path) else Results([], [], [])
    stored = read_results([results]) if next(Store(results).finished(), None) else Results([], [], [])
    keys = {_key(row) for row in archived.rows}
    own = {key for choice in study.choices() for key in choice.identities()}
    further = [row for row in stored.rows if _key(row) not in keys and identity(row) in own]
    if archived.rows or further or not os.path.exists(kept):
        return Results([*archived.rows, *further], stored.stores, [*archived.notes, *stored.notes], archived.files)
    shipped = read_results([kept])
    shipped.notes.append("The rows are those that ship with lipgnn.")
    return shipped


def _key(row: Row) -> tuple:
    """What is computed, on which data."""
    return (*identity(row), row["fingerprint"])


def _rows_of(choice: Choice, rows: Iterable[Row]) -> list[Row]:
    own = choice.identities()
    return [row for row in rows if identity(row) in own]
