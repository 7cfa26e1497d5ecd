"""Numbers of papers in a table of ours: beside our cells, and the rest of a paper's table where we have no runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lipgnn.report.table.cells import Cell, Key, Table, ordered
from lipgnn.report.table.papers import PaperNumber


def add_published(table: Table, papers: Sequence[PaperNumber]) -> Table:
    """Put the numbers of papers beside ours, where one is of the same data, model, norm and depth."""
    cells = {}
    for place, cell in table.cells.items():
        matches = (entry for entry in papers if entry.matches(table.layout.value, cell.spec))
        cells[place] = replace(cell, published=next(matches, None))
    return replace(table, cells=cells, with_published=True)


def complete_published(table: Table, papers: Sequence[PaperNumber]) -> Table:
    """Add the rest of every published table of which a number stands in this one; cells of ours there are empty."""
    layout, cells = table.layout, dict(table.cells)
    shown = [cell.published for cell in cells.values() if cell.published]
    sources = {(entry.paper, entry.table, entry.value) for entry in shown}
    for entry in papers:
        known = _fields(entry)
        unnamed = known.keys() - {*layout.rows, *layout.cols, *layout.best}
        ours = ({name: cell.spec[name] for name in unnamed} for cell in table.cells.values())
        of_this_table = (entry.paper, entry.table, entry.value) in sources and entry not in shown
        # What the table does not name has one value for all of it; a number of another value is of another table.
        if not of_this_table or not all(_agrees(entry, values) for values in ours):
            continue
        row, col = _place(entry, layout.rows, table.row_keys), _place(entry, layout.cols, table.col_keys)
        if row is not None and col is not None and (row, col) not in cells:
            cells[row, col] = Cell(None, None, {}, {}, 0, 0, {}, (), published=entry)
    row_keys = ordered([*table.row_keys, *(row for row, _ in cells)], layout.rows)
    col_keys = ordered([*table.col_keys, *(col for _, col in cells)], layout.cols)
    return replace(table, cells=cells, row_keys=row_keys, col_keys=col_keys)


def _place(entry: PaperNumber, names: Sequence[str], keys: Sequence[Key]) -> Key | None:
    """The row or column an entry belongs to: one that is there, else a new one if the entry knows all its fields."""
    for key in keys:
        if _agrees(entry, dict(zip(names, key, strict=True))):
            return key
    known = _fields(entry)
    return tuple(known[name] for name in names) if all(name in known for name in names) else None


def _agrees(entry: PaperNumber, values: dict[str, Any]) -> bool:
    """Whether an entry is of these values, as far as it knows them."""
    known = _fields(entry)
    return all(
        known[name] == value or (name == "dataset" and entry.scaled_down(values))
        for name, value in values.items()
        if name in known
    )


def _fields(entry: PaperNumber) -> dict[str, Any]:
    """What an entry is of, by the names of a run's fields."""
    named = {name: getattr(entry, name) for name in ("dataset", "missing", "model", "norm")}
    further = {"layers": entry.depth, "residual": entry.residual}
    return named | {name: value for name, value in further.items() if value is not None}
