"""A table for a paper: a caption and a label of one's own, and columns that fit a page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from lipgnn.errors import UsageError
from lipgnn.report.view.printed import Printed

# What becomes of a LaTeX table that is wider than a page.
BREAK, TURN = "break", "turn"
WIDE = (BREAK, TURN)
# Letters across the text of a page, about.
PAGE = 80
_LABEL = re.compile(r"[A-Za-z0-9:._+/-]+")


def for_paper(
    printed: Printed, *, caption: str | None = None, label: str | None = None, wide: str | None = None
) -> Printed:
    """The same table with what an author wants of it.

    Parameters
    ----------
    caption : in place of the one that says what the numbers are, which becomes the first note.
    label : the name by which LaTeX refers to the table.
    wide : BREAK or TURN, for a table that does not fit a page.

    Raises
    ------
    UsageError : a label that LaTeX would not take.
    """
    if label is not None and not _LABEL.fullmatch(label):
        raise UsageError(
            f"{label!r} is no label of LaTeX.", "Use letters, digits and : . _ + / -, for example --label tab:depth"
        )
    if caption is not None:
        printed = replace(printed, caption=caption, notes=[printed.caption, *printed.notes])
    return replace(printed, label=label, wide=wide)


def blocks(printed: Printed, limit: int = PAGE, between: int = 2) -> list[Printed]:
    """The table as tables of some of its columns, each within `limit` letters if a single column is.

    Every block has all rows with their labels. Columns below one header stay together if a block has room for them,
    by the uppermost line of headers for which it has; otherwise the header stands in both blocks.

    Parameters
    ----------
    between : spaces that a column takes beside its letters.
    """
    room = limit - sum(width + between for width in _label_widths(printed))
    widths = [width + between for width in _widths(printed)]
    parts: list[list[int]] = []
    taken = 0
    for group in _groups(printed, widths, room):
        width = sum(widths[place] for place in group)
        taken += width
        if not parts or taken > room:
            parts.append([])
            taken = width
        parts[-1] += group
    return [_part(printed, places) for places in parts]


def _groups(printed: Printed, widths: list[int], room: int) -> list[list[int]]:
    """The columns that stay together: all if there is room, or those below the uppermost header that has room."""
    groups = [list(range(printed.width))]
    for line in printed.headers:
        of_column = _of_column(line)
        parts = []
        for group in groups:
            fits = sum(widths[place] for place in group) <= room
            parts += [group] if fits else [list(members) for _, members in groupby(group, of_column.__getitem__)]
        groups = parts
    return groups


def _of_column(line: Sequence[tuple[str, int]]) -> list[int]:
    """For every column the number of the header of a line that it is below."""
    return [number for number, (_, span) in enumerate(line) for _ in range(span)]


def _part(printed: Printed, places: list[int]) -> Printed:
    headers = []
    for line in printed.headers:
        runs = groupby(places, key=_of_column(line).__getitem__)
        headers.append([(line[number][0], len(list(members))) for number, members in runs])
    rows = [(labels, [entries[place] for place in places]) for labels, entries in printed.rows]
    return replace(printed, headers=headers, rows=rows)


def _label_widths(printed: Printed) -> list[int]:
    columns = zip(printed.row_fields, *(labels for labels, _ in printed.rows), strict=True)
    return [max(map(len, column)) for column in columns]


def _widths(printed: Printed) -> list[int]:
    """Letters of every column: its longest entry, or the longest word above it."""
    words = [0] * printed.width
    for line in printed.headers:
        spans = [(text, span) for text, span in line for _ in range(span)]
        for place, (text, span) in enumerate(spans):
            words[place] = max(words[place], max(map(len, text.split()), default=0) if span == 1 else 0)
    for _, entries in printed.rows:
        for place, entry in enumerate(entries):
            words[place] = max(words[place], len(entry.text + entry.remark))
    return words
