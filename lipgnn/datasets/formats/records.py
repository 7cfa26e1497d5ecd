"""Tables as columns by name, from CSV, TSV or Parquet files, or from a plain list of edges.

Fields of text files stay texts: an id `007` is no number, and `NA` no hole.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lipgnn.datasets.limits import check_memory, read_text
from lipgnn.datasets.source import damaged
from lipgnn.errors import EnvironmentBroken

# A field is a text or a number; None is a hole.
Columns = Mapping[str, Sequence[Any]]

TEXT_SUFFIXES = (".csv", ".tsv")
PARQUET = ".parquet"
# Lists of edges without a header, as SNAP and many tools write them.
EDGE_LISTS = (".txt", ".edgelist", ".edges")
# What may stand between the fields of a line, in words.
_SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars"}
# Memory that a byte of a Parquet file takes at most, as columns of Python's objects.
_GROWTH = 60


def kind_of(path: Path) -> str:
    """The suffix of a file that may be gzipped, in small letters."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def read_records(path: Path) -> Columns:
    """The columns of a file, by name; those of a list of edges are called `source`, `target` and, maybe, `weight`.

    Raises
    ------
    DataError : the file is missing, damaged or no table.
    EnvironmentBroken : it is a Parquet file, and pyarrow is not installed.
    """
    kind = kind_of(path)
    if kind == PARQUET:
        return _parquet(path)
    return _edge_list(path) if kind in EDGE_LISTS else _delimited(path, "\t" if kind == ".tsv" else ",")


def texts(column: Sequence[Any]) -> tuple[str, ...]:
    """A column as texts, holes as empty ones; whole numbers have no point."""
    return tuple("" if value is None else str(value) for value in column)


def _delimited(path: Path, delimiter: str) -> Columns:
    text = read_text(path)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise damaged(path, f"not a table ({error})") from error
    if not any(rows):
        raise damaged(path, "it is empty", "A table begins with a line that names its columns.")
    header, *lines = rows
    if len(header) == 1 and (other := next((mark for mark in _SEPARATORS if mark in header[0]), None)):
        raise damaged(
            path,
            f"its fields are separated by {_SEPARATORS[other]}, and those of a {kind_of(path)} by "
            f"{_SEPARATORS[delimiter]}",
            "Call it .tsv." if other == "\t" else "Save it with commas, as .csv, or with tabs, as .tsv.",
        )
    if len(set(header)) != len(header):
        raise damaged(path, "two columns have one name")
    for number, line in enumerate(lines, start=2):
        if len(line) != len(header):
            raise damaged(path, f"row {number} has {len(line)} fields, the header {len(header)}")
    return dict(zip(header, zip(*lines, strict=True), strict=True)) if lines else dict.fromkeys(header, ())


def _edge_list(path: Path) -> Columns:
    """Two ids in a line, separated by blanks or a comma, and maybe a weight; lines that begin with # or % are none."""
    rows = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith(("#", "%")):
            continue
        fields = line.replace(",", " ").split()
        if len(fields) not in (2, 3) or (rows and len(fields) != len(rows[0])):
            raise damaged(path, f"line {number} has {len(fields)} fields, and an edge has two ids")
        rows.append(fields)
    names = ("source", "target", "weight")[: len(rows[0]) if rows else 2]
    return dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(names, ())


def _parquet(path: Path) -> Columns:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise EnvironmentBroken(
            f"Reading {str(path)!r} needs pyarrow, which is not installed.", 'Install it: pip install "lipgnn[parquet]"'
        ) from error
    try:
        size = path.stat().st_size
        file = parquet.ParquetFile(path)
        groups = (file.metadata.row_group(index) for index in range(file.metadata.num_row_groups))
        check_memory(path, _GROWTH * sum(group.total_byte_size for group in groups), size)
        table = file.read()
    except (OSError, ValueError, ArrowException) as error:
        raise damaged(path, f"not a Parquet file ({str(error).splitlines()[0]})") from error
    if len(set(table.column_names)) != table.num_columns:
        raise damaged(path, "two columns have one name")
    return {name: table.column(name).to_pylist() for name in table.column_names}
