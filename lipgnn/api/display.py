"""How objects show themselves in a notebook, and a line that tells how far a computation is. No torch here."""

from __future__ import annotations

import html
import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DASH = "–"
# Seconds between two changes of the line.
_PAUSE = 0.1


def cell(value: Any) -> str:
    """A value as people read it: four digits behind the point, a dash for nothing."""
    if value is None:
        return DASH
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def facts_html(title: str, facts: Iterable[tuple[str, Any]]) -> str:
    """A small table of names and values under a title; all of it is escaped."""
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left">{html.escape(name)}</th>'
        f'<td style="text-align:left">{html.escape(cell(value))}</td></tr>'
        for name, value in facts
    )
    return f"<table><caption><b>{html.escape(title)}</b></caption>{rows}</table>"


def rows_html(header: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> str:
    """A table with a header."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell(value))}</td>' for value in row)}</tr>" for row in rows)
    caption = f"<caption>{html.escape(title)}</caption>" if title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def shown(sheet: Figure) -> Figure:
    """A figure of matplotlib that a notebook shows, whether or not pyplot was ever imported there."""

    def to_png() -> bytes:
        from lipgnn.report.figures.canvas import content_of

        return content_of(sheet, "png")

    sheet._repr_png_ = to_png
    return sheet


class StatusLine:
    """One line that says how far a computation is: on stderr, or with a bar below the cell of a notebook.

    Every text takes the place of the one before, so that a cell has one line however long the computation takes.

    Parameters
    ----------
    shown : whether there is one; None is where somebody can be looking: at a terminal, and in a notebook.
    """

    def __init__(self, shown: bool | None = None):
        notebook = _notebook()
        self.shown = shown if shown is not None else notebook is not None or sys.stderr.isatty()
        self._display = notebook if self.shown else None
        self._handle: Any = None
        self._last, self._width = -_PAUSE, 0

    def __enter__(self) -> StatusLine:
        return self

    def __exit__(self, *exception: object) -> None:
        """A line on stderr makes room for what comes next."""
        if self._width:
            sys.stderr.write("\n")
            sys.stderr.flush()

    def say(self, text: str, *, share: float | None = None, at_once: bool = False) -> None:
        """Replace the line, unless it was replaced a moment ago.

        Parameters
        ----------
        share : how much is done, from 0 to 1; None where that is unknown.
        """
        now = time.monotonic()
        if not self.shown or (now - self._last < _PAUSE and not at_once):
            return
        self._last = now
        if self._display is None:
            # A longer line would take two, of which one could not be written over.
            text = text[: shutil.get_terminal_size().columns - 1]
            sys.stderr.write(f"\r{text:<{self._width}}")
            sys.stderr.flush()
            self._width = len(text)
            return
        content = {"text/plain": text, "text/html": _bar_html(text, share)}
        if self._handle is None:
            self._handle = self._display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


def _bar_html(text: str, share: float | None) -> str:
    done = "" if share is None else f' value="{share:.3f}"'
    bar = f'<progress max="1"{done} style="width:14em;vertical-align:middle"></progress>'
    return f'<div style="font-variant-numeric:tabular-nums">{bar} {html.escape(text)}</div>'


def _notebook() -> Any:
    """IPython's function to display something, where a notebook runs this; else None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    return display
