"""Reading results: stores and results.csv files, every value checked before anything is averaged."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lipgnn.errors import DataError, UsageError
from lipgnn.files import from_csv_text
from lipgnn.results.columns import COLUMNS, KINDS, OPTIONAL, SCORES, Row, checked
from lipgnn.results.recordings import archived_path, read_recording
from lipgnn.results.run import Run
from lipgnn.results.store import Store
from lipgnn.spec.run import FIELDS, HOW

if TYPE_CHECKING:
    import numpy as np

# What may differ between two computations of one run: where, when and how it was started.
_MEANS = (*HOW, "threads")
_INCIDENTAL = (*_MEANS, "seconds", "seconds_per_epoch", "peak_memory_mb", "version", "command")
_ESSENTIAL = tuple(name for name in COLUMNS if name not in _INCIDENTAL)
# What must be the same of them even where they were computed by other means, which round sums in another order; and by
# how much their scores may differ then.
_FIXED = tuple(name for name in _ESSENTIAL if name in (*FIELDS, "status", "parameters", "fingerprint"))
_AGREEMENT = 0.02


@dataclass(frozen=True)
class Results:
    """What was read.

    Attributes
    ----------
    rows : one dictionary a run with the keys of COLUMNS; numbers are numbers, an empty number is None.
    stores : the stores among the sources, which also have logs and failures.
    notes : what a reader should know: columns that were not understood, rows that were there twice.
    files : the CSV files among the sources; a folder of the same name beside one holds archived recordings.
    """

    rows: list[Row]
    stores: list[Store]
    notes: list[str]
    files: tuple[Path, ...] = ()

    def failures(self) -> list[Run]:
        """The runs whose last attempt failed and that have no result."""
        paths = (path for store in self.stores for path in sorted(store.runs_path.glob("*/failure.json")))
        return [run for run in map(Run, (path.parent for path in paths)) if not run.result_path.exists()]

    def run(self, run_id: str) -> Run | None:
        """The directory of a run, if one of the stores has it."""
        runs = (store.run(run_id) for store in self.stores)
        return next((run for run in runs if run.spec_path.exists()), None)

    def recording(self, run_id: str, record: str) -> dict[str, np.ndarray] | None:
        """The arrays of a record of a run (see `lipgnn.results.recordings`): a store's if there are any, else archived.

        Raises
        ------
        DataError : the file is damaged.
        """
        paths = [store.run(run_id).recording_path(record) for store in self.stores]
        paths += [archived_path(path.with_suffix(""), run_id, record) for path in self.files]
        return next((read_recording(path) for path in paths if path.exists()), None)


def read_results(sources: Iterable[Path]) -> Results:
    """Read stores and CSV files together; the same run twice counts once.

    Raises
    ------
    UsageError : a source that is not there, or no runs at all.
    DataError : a value, row or column that cannot be used; nothing is averaged around it.
    """
    sources = list(sources)
    stores, files, notes, seen, differences = [], [], [], {}, []
    for source in sources:
        store = None if os.path.isfile(source) else Store(source)
        if store and store.runs_path.is_dir():
            stores.append(store)
            found = _from_store(store)
        else:
            path = store.csv_path if store and source.is_dir() else source
            files.append(path)
            found = _from_csv(path, notes)
        for place, row in found:
            first = seen.setdefault(row["run_id"], (place, row))
            if first[1] is not row:
                differences.append(_check_same(first, (place, row)))
    if not seen:
        raise UsageError(
            f"No results in {', '.join(repr(str(source)) for source in sources)}.",
            "Compute some first: lipgnn train --layers 10 --norm lip",
        )
    if differences:
        notes.append(f"Rows that repeat a run and were left out: {len(differences)}.")
    if unlike := [difference for difference in differences if difference]:
        notes.append(
            f"Of these, {len(unlike)} were computed by other means, such as another number of threads, and differ in a "
            f"score by up to {max(unlike):.2g}; what was read first counts."
        )
    return Results([row for _, row in seen.values()], stores, notes, tuple(files))


def _from_store(store: Store) -> Iterator[tuple[str, Row]]:
    folder = str(store.runs_path)
    for row in store.results():
        yield f"'{folder}/{row['run_id']}/result.json'", row


def _from_csv(path: Path, notes: list[str]) -> Iterator[tuple[str, Row]]:
    lines = _lines(path)
    header = next(lines, None)
    if header is None:
        raise DataError(f"{str(path)!r} is empty.", "Give a results.csv with its header, or a store.")
    for name in COLUMNS:
        if header.count(name) != 1 and (name in header or name not in OPTIONAL):
            state = "has no column" if name not in header else "has more than one column"
            raise DataError(
                f"{str(path)!r} {state} {name!r} (row 1).",
                "The columns are those of results.csv; `lipgnn report FOLDER` reads the store itself.",
            )
    unknown = [name for name in header if name not in KINDS]
    if unknown:
        notes.append(f"Columns of {str(path)!r} that were not understood: {', '.join(map(repr, unknown))}.")
    for number, cells in enumerate(lines, start=2):
        place = f"{str(path)!r}, row {number}"
        if not cells:
            continue
        if len(cells) != len(header):
            raise DataError(f"{place} has {len(cells)} cells, the header {len(header)}.", _REMEDY)
        yield place, checked(dict(zip(header, map(from_csv_text, cells), strict=True)), place, _REMEDY)


def _lines(path: Path) -> Iterator[list[str]]:
    try:
        # utf-8-sig also reads files without the byte-order mark that spreadsheets put in front.
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(
            f"Cannot read results from {str(path)!r}: {error.strerror or error}.",
            "Give a store or a results.csv; `lipgnn train --layers 10 --norm lip` makes a store in ./results.",
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{str(path)!r} is not UTF-8 text: {error}.", _REMEDY) from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        yield from reader
    except csv.Error as error:
        raise DataError(f"{str(path)!r}, line {reader.line_num}: {error}.", _REMEDY) from error


_REMEDY = "Fix or remove it; `lipgnn report FOLDER` reads the store itself, not its results.csv."


def _check_same(first: tuple[str, Row], second: tuple[str, Row]) -> float:
    """Refuse two rows of one run that contradict each other; the largest difference of their scores.

    By the same means a run comes to the same bits.
    """
    alike = all(first[1][name] == second[1][name] for name in _MEANS)
    for name in _ESSENTIAL if alike else _FIXED:
        _refuse_unless(first[1][name] == second[1][name], name, first, second)
    differences = [0.0]
    for name in SCORES:
        pair = first[1][name], second[1][name]
        if pair[0] == pair[1]:
            continue
        _refuse_unless(None not in pair and abs(pair[0] - pair[1]) <= _AGREEMENT, name, first, second)
        differences.append(abs(pair[0] - pair[1]))
    return max(differences)


def _refuse_unless(agree: bool, name: str, first: tuple[str, Row], second: tuple[str, Row]) -> None:
    if agree:
        return
    (place, row), (other_place, other) = first, second
    means = ", ".join(f"{key} {row[key]!r} and {other[key]!r}" for key in _MEANS if row[key] != other[key])
    raise DataError(
        f"Run {row['run_id']} is there twice with another {name!r}: {row[name]!r} in {place}, {other[name]!r} in "
        f"{other_place}{f' (computed with {means})' if means else ''}.",
        "Keep the one that is right.",
    )
