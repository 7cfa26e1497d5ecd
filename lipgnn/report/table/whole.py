"""The whole of a published table: its numbers also where there are no runs of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lipgnn.report.table.cells import Cell, Key, Table, ordered
from lipgnn.report.table.published import Published


def complete_published(table: Table, published: Sequence[Published]) -> Table:
    """Add the rest of every published table of which a number stands in this one; cells of ours there are empty."""
    layout, cells = table.layout, dict(table.cells)
    shown = [cell.published for cell in cells.values() if cell.published]
    sources = {(entry.paper, entry.table, entry.value) for entry in shown}
    for entry in published:
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


def _place(entry: Published, names: Sequence[str], keys: Sequence[Key]) -> Key | None:
    """The row or column an entry belongs to: one that is there, else a new one if the entry knows all its fields."""
    for key in keys:
        if _agrees(entry, dict(zip(names, key, strict=True))):
            return key
    known = _fields(entry)
    return tuple(known[name] for name in names) if all(name in known for name in names) else None


def _agrees(entry: Published, values: dict[str, Any]) -> bool:
    """Whether an entry is of these values, as far as it knows them."""
    known = _fields(entry)
    return all(
        known[name] == value or (name == "dataset" and entry.scaled_down(values))
        for name, value in values.items()
        if name in known
    )


def _fields(entry: Published) -> dict[str, Any]:
    """What an entry is of, by the names of a run's fields."""
    named = {name: getattr(entry, name) for name in ("dataset", "missing", "model", "norm")} | {"layers": entry.depth}
    return named | ({"residual": entry.residual} if entry.residual else {})
