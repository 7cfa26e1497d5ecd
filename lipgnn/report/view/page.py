"""One page that stands for itself: table, figures, what is behind every cell, what failed, and the commands."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from functools import partial
from importlib import resources
from typing import Any

import lipgnn
from lipgnn.errors import LipgnnError
from lipgnn.report.figures.draw import draw
from lipgnn.report.figures.profiles import profile_panels, scatter_panels
from lipgnn.report.figures.series import panels_of
from lipgnn.report.table.cells import Cell, Table
from lipgnn.report.view.formats import html_table
from lipgnn.report.view.printed import Printed, plain
from lipgnn.results.rows import Results, Row
from lipgnn.results.store import Run
from lipgnn.spec.run import RunSpec
from lipgnn.spec.sources import command_for

# More panels than these are no figure any more; --figure draws them all the same.
MOST_PANELS = 12

_UNREADABLE = (OSError, ValueError, TypeError, KeyError, LipgnnError)


def render_page(table: Table, printed: Printed, results: Results, command: str) -> bytes:
    """The page: self-contained HTML that asks nothing of the network.

    Parameters
    ----------
    command : the command that makes the page, shown on it.
    """
    sections = [
        f"<h1>lipgnn report: {html.escape(table.layout.value)}</h1>",
        f"<p>{len(results.rows)} runs read. Made by <code>{_escape(command)}</code> (lipgnn {lipgnn.__version__}).</p>",
        *(f"<p>{_escape(note)}</p>" for note in results.notes),
        f'<div class="wide">{html_table(printed)}</div>',
        _figures(table, results),
        _layers(table, results),
        _trouble(results),
        _cells(table),
    ]
    template = resources.files("lipgnn.report.view").joinpath("page.html").read_text(encoding="utf-8")
    title = f"lipgnn report: {html.escape(table.layout.value)}"
    return template.replace("{title}", title).replace("{body}", "\n".join(filter(None, sections))).encode()


def _figures(table: Table, results: Results) -> str:
    """The figures this table has data for, as inline SVG."""
    pictures = []
    for kind in ("depth", "box", "curve"):
        if kind != "depth" and len(table.col_keys) > MOST_PANELS:
            continue
        try:
            panels = panels_of(kind, table, results)
        except LipgnnError:
            # No depths, no logs or nothing done: the page goes without this figure.
            continue
        caption = {
            "depth": "Mean against depth; the band is one sample standard deviation to either side.",
            "box": "Every run, with median and quartiles.",
            "curve": "Mean by epoch over the runs that reached it; the band is one sample standard deviation.",
        }[kind]
        pictures.append(_figure(draw(kind, panels, table.layout.value, "svg"), caption))
    return "<h2>Figures</h2>\n" + "\n".join(pictures) if pictures else ""


def _layers(table: Table, results: Results) -> str:
    """What depth does, layer by layer, where all runs have recorded it."""
    captions = {
        "grad_mu": "How much the gradient differs between nodes. It should be of one size at all layers.",
        "feat_mu": "How much features differ between nodes.",
        "rank1": "The share of the features that is not one row a component. Falling to zero, it says that nodes "
        "become one.",
    }
    figures = [("profile", value, caption, partial(profile_panels, value=value)) for value, caption in captions.items()]
    ends = "Every run as a dot: its result, and how much output and first gradient differ between nodes at its end."
    figures.append(("scatter", table.layout.value, ends, scatter_panels))
    pictures = []
    for kind, value, caption, panels_of_kind in figures:
        try:
            panels = panels_of_kind(table, results)
        except LipgnnError:
            continue
        if len(panels) <= MOST_PANELS:
            pictures.append(_figure(draw(kind, panels, value, "svg"), caption))
    how = "<p>Recorded by <code>--record similarity</code>; <code>lipgnn diagnose RUN</code> says more of a run.</p>"
    return "\n".join(["<h2>Layers</h2>", how, *pictures]) if pictures else ""


def _figure(svg: bytes, caption: str) -> str:
    text = svg.decode()
    return f"<figure>{text[text.index('<svg') :]}<figcaption>{caption}</figcaption></figure>"


def _trouble(results: Results) -> str:
    """Diverged and failed runs with their reasons, also those that no cell shows."""
    rows = []
    for row in results.rows:
        if row["status"] == "diverged":
            run = results.run(row["run_id"])
            reason = (run.result() or {}).get("diverged_at") if run else None
            rows.append((row["run_id"], "diverged", reason or "", row["command"]))
    rows += [(run.id, "failed", _reason(run), _command(run)) for run in results.failures()]
    if not rows:
        return ""
    return "<h2>Diverged and failed runs</h2>\n" + _plain_table(("run", "status", "reason", "command"), rows)


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
    except _UNREADABLE as error:
        return f"spec.json cannot be read: {error}"


def _cells(table: Table) -> str:
    blocks = ["<h2>Behind every cell</h2>"]
    for row in table.row_keys:
        for col in table.col_keys:
            if cell := table.cells.get((row, col)):
                names = (*table.layout.rows, *table.layout.cols)
                title = ", ".join(f"{name} {plain(value)}" for name, value in zip(names, (*row, *col), strict=True))
                blocks.append(_cell(title, cell, table.layout.value))
    return "\n".join(blocks)


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
    body = "\n".join(f"<tr>{''.join(f'<td>{_escape(value)}</td>' for value in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


def _escape(value: Any) -> str:
    return html.escape(plain(value))
