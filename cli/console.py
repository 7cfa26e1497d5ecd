"""Everything that is shown to people and stays; with `cli.progress`, the only importer of rich.

Data goes to stdout, everything else to stderr. Text from outside is shown as it is: never as markup, and with
its control characters spelled out.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.markdown import Markdown
from rich.measure import Measurement
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

DASH = "–"

# Wider than any table.
_NO_LIMIT = 100_000
# Longer lines of prose are hard to read.
_PAGE_WIDTH = 100
# What processes find in their environment that a notebook starts, in Jupyter and in Colab.
_OF_NOTEBOOKS = ("JPY_PARENT_PID", "JPY_SESSION_NAME", "COLAB_RELEASE_TAG")


def out() -> Console:
    """The console for data; asked for when used, so that it writes to the stdout of that moment."""
    return _console(sys.stdout)


def err() -> Console:
    """The console for everything that is not data."""
    return _console(sys.stderr)


@functools.lru_cache(maxsize=4)
def _console(file: TextIO) -> Console:
    """One console a stream: lines printed while a progress bar is shown must go through the bar's own console."""
    return Console(file=file, markup=False, highlight=False, emoji=False)


def in_notebook() -> bool:
    """Whether a cell of a notebook shows what we print (`!lipgnn …`), which looks like a terminal and is none."""
    return any(name in os.environ for name in _OF_NOTEBOOKS)


def redraws(console: Console) -> bool:
    """Whether what is shown can be drawn anew in its place; elsewhere every drawing would stay, one below the other."""
    return console.is_terminal and not console.is_dumb_terminal and not in_notebook()


def whole_words(text: str, width: int) -> str:
    """As many words of a line as fit into a width, with an ellipsis where some do not."""
    if len(text) <= width:
        return text
    cut = text[: max(width - 1, 0)].rfind(" ")
    return f"{text[: max(cut, 0)].rstrip()} …".lstrip()


def clean(value: Any) -> str:
    """Text with every control character spelled out, so that it cannot steer a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in str(value))


def note(text: str) -> None:
    """A line on stderr."""
    err().print(Text(clean(text)), soft_wrap=True)


def loading() -> None:
    """Say at once what the first seconds are for, to whoever watches a terminal."""
    if err().is_terminal:
        note("PyTorch and the data are being loaded.")


def fail(message: str, hint: str | None) -> None:
    """An error on stderr: what was wrong, then what to do."""
    line = Text("Error: ", style="bold red") + Text(clean(message), style="default")
    err().print(line, soft_wrap=True)
    if hint:
        err().print(Text(clean(hint)), soft_wrap=True)


def print_json(value: Any) -> None:
    """One JSON object on stdout; in ASCII, so that nothing in it can steer a terminal."""
    print(json.dumps(value, allow_nan=False))


def print_text(text: str) -> None:
    """A line on stdout."""
    out().print(Text(clean(text)), soft_wrap=True)


def print_markdown(text: str) -> None:
    """A page on stdout: rendered on a terminal, as it is in a pipe."""
    console = out()
    if console.is_terminal:
        # Links lead to other pages by their file, which a terminal cannot follow, so they are written out.
        page = Markdown(text, code_theme="ansi_dark", hyperlinks=False)
        console.print(page, width=min(console.width, _PAGE_WIDTH))
    else:
        print(text, end="")


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    title: str | None = None,
    below: Iterable[str] = (),
    decimals: Sequence[int | None] | None = None,
) -> None:
    """A table on stdout and lines below it; columns of numbers are aligned right, a missing value is a dash.

    A pipe gets every row on one line, however wide. A terminal that is too narrow for that gets blocks of columns, each
    with the first column, so that no word and no number is broken. Columns with `decimals` have so many digits behind
    the point.
    """
    rows = [list(row) for row in rows]
    digits = [None] * len(columns) if decimals is None else decimals
    for number, places in enumerate(_places(columns, rows, digits)):
        part = [[row[place] for place in places] for row in rows]
        table = _table([columns[place] for place in places], part, [digits[place] for place in places])
        table.title, table.title_justify = Text(clean(title)) if title and number == 0 else None, "left"
        _unbroken().print(table)
    for line in below:
        out().print(Text(clean(line)), soft_wrap=True)


def fits(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> bool:
    """Whether the table of these can be shown without breaking words or numbers."""
    console = _unbroken()
    at_will = console.options.update(max_width=_NO_LIMIT)
    return Measurement.get(console, at_will, _table(columns, rows)).minimum <= console.width


def _places(columns: Sequence[str], rows: Sequence[Sequence[Any]], digits: Sequence[int | None]) -> list[list[int]]:
    """The places of the columns that stand beside each other, block by block; the first column is in all of them."""
    texts = zip(columns, *([cell(*pair) for pair in zip(row, digits, strict=True)] for row in rows), strict=True)
    # A space to either side of a cell, and one between two.
    widths = [max(len(word) for text in column for word in (clean(text).split() or [""])) + 3 for column in texts]
    room = _unbroken().width - 1
    blocks, taken = [[0]], widths[0]
    for place in range(1, len(columns)):
        if taken + widths[place] > room and len(blocks[-1]) > 1:
            blocks.append([0])
            taken = widths[0]
        blocks[-1].append(place)
        taken += widths[place]
    return blocks


def _table(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], decimals: Sequence[int | None] | None = None
) -> Table:
    digits = [None] * len(columns) if decimals is None else decimals
    table = Table(box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        numeric = any(isinstance(row[index], int | float) for row in rows)
        table.add_column(Text(clean(column)), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell(value, count)) for value, count in zip(row, digits, strict=True)))
    return table


def _unbroken() -> Console:
    """The console for data that is wide; no line is broken in a pipe."""
    console = out()
    if console.is_terminal:
        return console
    return Console(file=sys.stdout, width=_NO_LIMIT, markup=False, highlight=False, emoji=False)


def width_of_data() -> int:
    """How many characters of a table stand beside each other on stdout; a pipe has no limit."""
    return _unbroken().width


def print_styled(
    columns: Sequence[str],
    rows: Iterable[Sequence[Sequence[tuple[str, str | None]]]],
    *,
    labels: int,
    below: Iterable[str],
) -> None:
    """A table on stdout whose cells are pieces of text, each with its style, and lines below it.

    A pipe gets every row on one line, however wide; on a terminal the first `labels` columns are never broken.
    """
    table = Table(box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        table.add_column(Text(clean(column)), overflow="fold", no_wrap=index < labels)
    for row in rows:
        table.add_row(*(Text.assemble(*((clean(text), style or "") for text, style in pieces)) for pieces in row))
    console = _unbroken()
    console.print(table)
    for line in below:
        console.print(Text(clean(line)), soft_wrap=True)


def cell(value: Any, decimals: int | None = None) -> str:
    """A value as a table shows it; numbers with four digits, or with so many behind the point."""
    if value is None or value == "":
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if decimals is None else f"{value:.{decimals}f}"
    return clean(value)


def print_panel(title: str, facts: Iterable[tuple[str, str]], *, good: bool = True) -> None:
    """A summary on stdout: facts by name."""
    grid = Table.grid(padding=(0, 2))
    for name, value in facts:
        grid.add_row(Text(name, style="dim"), Text(clean(value), overflow="fold"))
    border = "green" if good else "red"
    out().print(Panel(grid, title=Text(clean(title)), title_align="left", border_style=border, expand=False))


def print_next(*commands: str) -> None:
    """The commands worth typing next, on stderr, each on one line to copy."""
    note("Next:")
    for line in commands:
        note(f"  {line}")


def size(count: int | None) -> str:
    """A number of bytes, in the unit that suits it."""
    if count is None:
        return DASH
    for unit, bytes_ in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= bytes_:
            return f"{count / bytes_:.1f} {unit}"
    return f"{count} bytes"
