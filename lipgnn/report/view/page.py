"""One page that stands for itself: table, figures, what is behind every cell, what failed, and the commands."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any

import lipgnn
from lipgnn.errors import LipgnnError
from lipgnn.report.figures import FIGURES
from lipgnn.report.figures.figure import draw
from lipgnn.report.table.cells import Cell, Table
from lipgnn.report.table.values import heading_of
from lipgnn.report.view.formats import html_table
from lipgnn.report.view.printed import Printed, plain
from lipgnn.results.columns import Row
from lipgnn.results.rows import Results
from lipgnn.results.run import Run
from lipgnn.spec.run import RunSpec
from lipgnn.spec.sources import command_for

# A figure may shrink to this share of its size.
_SMALLEST = 0.7
# More panels than these are no figure any more; --figure draws them all the same.
MOST_PANELS = 12

_TABLE = """<h2>Table</h2>
<p>Every number is a mean over runs. The best of a column is in bold and the second is underlined, among the rows of
the same data. A click on the name of a column sorts the rows by it.</p>"""
_FIGURES = """<h2>Figures</h2>
<p>These figures are drawn from the runs of the table. A wide figure scrolls to the side.</p>"""
_LAYERS = """<h2>Layers</h2>
<p>These figures show what the runs recorded of every layer (<code>--record</code>). <code>lipgnn diagnose RUN</code>
says more of a single run.</p>"""
_TROUBLE = """<h2>Diverged and failed runs</h2>
<p>These runs are excluded from all means. A run has diverged when one of its numbers was no longer finite, and it
has failed when it ended with an error. The command computes the run again.</p>"""
_CELLS = """<h2>Behind every cell</h2>
<p>Each line is a cell of the table. A click opens it and shows its options and its runs with their commands.</p>"""

_UNREADABLE = (OSError, ValueError, TypeError, KeyError, LipgnnError)


def render_page(table: Table, printed: Printed, results: Results, command: str) -> bytes:
    """The page: self-contained HTML that asks nothing of the network.

    Parameters
    ----------
    command : the command that makes the page, shown on it.
    """
    title = _escape(title_of(table))
    sections = [
        f"<h1>{title}</h1>",
        f"<p>This is a report of {len(results.rows)} training runs, made by lipgnn {lipgnn.__version__} with the "
        f"command <code>{_escape(command)}</code>.</p>",
        *(f"<p>{_escape(note)}</p>" for note in results.notes),
        _TABLE,
        f'<div class="wide">{html_table(printed)}</div>',
        _figures(table, results, recorded=False),
        _figures(table, results, recorded=True),
        _trouble(results),
        _cells(table),
    ]
    template = resources.files("lipgnn.report.view").joinpath("page.html").read_text(encoding="utf-8")
    return template.replace("{title}", title).replace("{body}", "\n".join(filter(None, sections))).encode()


def title_of(table: Table) -> str:
    """What a page shows: the number, by which fields, and of which data where it is all the same."""
    fields = [*table.layout.rows, *table.layout.cols]
    data = {run["dataset"] for cell in table.cells.values() for run in cell.runs}
    title = heading_of(table.layout.value, table.metrics)
    title = f"{title[0].upper()}{title[1:]}" + (f" by {' and '.join(fields)}" if fields else "")
    return f"{title} on {data.pop()}" if len(data) == 1 and "dataset" not in fields else title


def _figures(table: Table, results: Results, *, recorded: bool) -> str:
    """The figures this table has data for, as inline SVG: of results and logs, or of what all its runs recorded."""
    pictures = []
    for figure in FIGURES.values():
        if (figure.needs is not None) != recorded:
            continue
        for value, caption in figure.captions:
            drawn = value or table.layout.value
            try:
                panels = figure.panels(table, results, drawn)
            except LipgnnError:
                # No depths, no logs, nothing recorded or nothing done: the page goes without this figure.
                continue
            if len(panels) <= MOST_PANELS:
                pictures.append(_figure(draw(figure, panels, drawn, "svg", table.metrics), caption))
    head = [_LAYERS if recorded else _FIGURES]
    return "\n".join([*head, *pictures]) if pictures else ""


def _figure(svg: bytes, caption: str) -> str:
    """A figure that scrolls to the side where it would become too small to read."""
    text = svg.decode()
    text = text[text.index("<svg") :]
    least = _SMALLEST * float(re.search(r'width="([\d.]+)pt"', text)[1])
    text = text.replace("<svg", f'<svg style="min-width:{least:.0f}pt"', 1)
    return f'<figure><div class="wide">{text}</div><figcaption>{caption}</figcaption></figure>'


def _trouble(results: Results) -> str:
    """Diverged and failed runs with their reasons, also those that no cell shows."""
    rows = []
    for row in results.rows:
        if row["status"] == "diverged":
            run = results.run(row["run_id"])
            reason = (run.result() or {}).get("diverged_at") if run else None
            rows.append((row["run_id"], "diverged", f"not finite: {reason}" if reason else "", row["command"]))
    rows += [(run.id, "failed", _reason(run), _command(run)) for run in results.failures()]
    if not rows:
        return ""
    return f"{_TROUBLE}\n{_plain_table(('run', 'status', 'reason', 'command'), rows)}"


def _reason(run: Run) -> str:
    try:
        failure = json.loads(run.failure_path.read_bytes())
        return f"{failure['reason']} (epoch {failure['epoch']})"
    except _UNREADABLE as error:
        return f"failure.json cannot be read: {error}"


def _command(run: Run) -> str:
    """The command of a run that has no result to say it."""
    try:
        return command_for(RunSpec.from_mapping(json.loads(run.spec_path.read_bytes())["spec"]))
    except FileNotFoundError:
        return "unknown, because the run failed before its options were written"
    except _UNREADABLE as error:
        return f"spec.json cannot be read: {error}"


def _cells(table: Table) -> str:
    parts = [_CELLS]
    for row in table.row_keys:
        for col in table.col_keys:
            if cell := table.cells.get((row, col)):
                names = (*table.layout.rows, *table.layout.cols)
                title = ", ".join(f"{name} {plain(value)}" for name, value in zip(names, (*row, *col), strict=True))
                parts.append(_cell(title, cell, table.layout.value))
    return "\n".join(parts)


def _cell(title: str, cell: Cell, value: str) -> str:
    options = " ".join(f"{name}={plain(option)}" for name, option in {**cell.spec, **cell.best}.items())
    rows = [_run(run, value) for run in cell.runs]
    return (
        f"<details><summary>{_escape(title)} ({cell.n + cell.never} done, {cell.diverged} diverged)</summary>"
        f"<p><code>{_escape(options)}</code></p>"
        f"{_plain_table(('run', 'status', value, 'command'), rows)}</details>"
    )


def _run(run: Row, value: str) -> tuple[Any, ...]:
    number = run[value]
    return run["run_id"], run["status"], "" if number is None else f"{number:.6g}", run["command"]


def _plain_table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f"<th>{_escape(name)}</th>" for name in names)
    # Words are broken into lines, and numbers are not.
    kinds = [' class="words"' if name in ("reason", "command") else "" for name in names]
    body = "\n".join(
        f"<tr>{''.join(f'<td{kind}>{_escape(value)}</td>' for kind, value in zip(kinds, row, strict=True))}</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


def _escape(value: Any) -> str:
    return html.escape(plain(value))
