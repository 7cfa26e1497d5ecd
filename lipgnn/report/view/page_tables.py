"""Page tables: tables of Markdown pages that the program prints, each below the command that prints it.

<!-- report: lipgnn report results/studies/first.csv --study first --format markdown -->
| norm | …
<!-- end -->
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

from lipgnn.errors import LipgnnError, UsageError

_BEGIN = re.compile(r"<!-- report: (.*) -->")
_END = "<!-- end -->"


def update_tables(page: str, run: Callable[[list[str]], str]) -> tuple[str, int]:
    """The page with every page table as its command prints it now.

    Parameters
    ----------
    run : prints a report, by the words after `lipgnn report`. It takes nothing for granted: the words are the page's.

    Returns
    -------
    the page, and the number of its tables.

    Raises
    ------
    UsageError : a table without its end, or with another command than one that prints a report.
    """
    lines, tables, inside = [], 0, None
    for number, line in enumerate(page.splitlines(keepends=True), start=1):
        begins = _BEGIN.fullmatch(line.rstrip())
        if begins and inside is None:
            inside, tables = number, tables + 1
            printed = _printed(begins[1], number, run)
            lines += [line, printed if printed.endswith("\n") else f"{printed}\n"]
        elif begins:
            raise _unended(inside)
        elif line.rstrip() == _END and inside is not None:
            lines.append(line)
            inside = None
        elif inside is None:
            lines.append(line)
    if inside is not None:
        raise _unended(inside)
    return "".join(lines), tables


def _printed(command: str, number: int, run: Callable[[list[str]], str]) -> str:
    """What the command in line `number` prints; an error says the line."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"Line {number} holds no command: {error}.", _HINT) from error
    if words[:2] != ["lipgnn", "report"] or "\0" in command:
        raise UsageError(f"Line {number} holds no command that prints a report: {command!r}.", _HINT)
    try:
        return run(words[2:])
    except LipgnnError as error:
        raise type(error)(f"Line {number} cannot be printed. {error.message}", error.hint) from error


_HINT = "Write <!-- report: lipgnn report RESULTS … --format markdown --> on a line of its own."


def _unended(number: int) -> UsageError:
    return UsageError(f"The table that begins in line {number} has no end.", f"Write {_END} on a line of its own.")
