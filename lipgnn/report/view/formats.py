"""One table in every format a paper, a page or another program takes; foreign text is always escaped."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lipgnn.files import to_csv_text, to_json
from lipgnn.report.table.cells import Table
from lipgnn.report.view.paper import BREAK, TURN, blocks
from lipgnn.report.view.printed import MINUS, Entry, Printed, plain

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': "''",
    "±": r"$\pm$",
    "–": r"\textendash{}",
    MINUS: "$-$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    # After the end of a row these three would be taken for its options, and two hyphens for a dash.
    **{character: f"{{{character}}}" for character in "[]*-"},
}
# Beyond ASCII, the letters that every LaTeX sets without further packages.
_LATEX_LETTERS = frozenset("ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿ")


def markdown(printed: Printed) -> str:
    """A pipe table with its caption and notes."""
    head = [*map(_markdown, printed.row_fields), *(_markdown(text) for text in flat_headers(printed))]
    lines = [head, ["---"] * len(head)]
    lines += [[*map(_markdown, labels), *map(_markdown_entry, entries)] for labels, entries in printed.rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n\n".join([table, *(_markdown(text) for text in (printed.caption, *printed.notes))]) + "\n"


def latex(printed: Printed, command: str = "") -> str:
    r"""A `table` for \usepackage{booktabs}, with the label and the form that it is to have (see `for_paper`).

    Parameters
    ----------
    command : the command that makes it, put into a comment.
    """
    turned = printed.wide == TURN
    kind = "sidewaystable" if turned else "table"
    packages = r"\usepackage{booktabs}" + (r" and \usepackage{rotating}" if turned else "")
    lines = [f"% {plain(command)}", f"% needs {packages}", rf"\begin{{{kind}}}", r"\centering"]
    lines += [rf"\caption{{{_latex(printed.caption)}}}"]
    lines += [rf"\label{{{printed.label}}}"] if printed.label else []
    parts = blocks(printed) if printed.wide == BREAK else [printed]
    lines.append("\n\\par\\medskip\n".join(map(_tabular, parts)))
    lines += [rf"\par\smallskip{{\footnotesize {_latex(note)}}}" for note in printed.notes]
    return "\n".join([*lines, rf"\end{{{kind}}}", ""])


def _tabular(printed: Printed) -> str:
    labels = len(printed.row_fields)
    lines = [rf"\begin{{tabular}}{{{'l' * labels}{'c' * printed.width}}}", r"\toprule"]
    for level, header in enumerate(printed.headers):
        last = level == len(printed.headers) - 1
        names = [_latex(name) if last else "" for name in printed.row_fields]
        lines.append(" & ".join([*names, *(_latex_header(*cell) for cell in header)]) + r" \\")
        if not last:
            lines.append("".join(_rules(header, labels + 1)))
    lines.append(r"\midrule")
    lines += [
        " & ".join([*map(_latex, names), *map(_latex_entry, entries)]) + r" \\" for names, entries in printed.rows
    ]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def html_table(printed: Printed) -> str:
    """A `<table>` with its caption, and the notes as a paragraph each; ASCII, so that no charset can spoil it."""
    head = []
    for level, header in enumerate(printed.headers):
        last = level == len(printed.headers) - 1
        names = "".join(f"<th>{html.escape(name) if last else ''}</th>" for name in printed.row_fields)
        cells = "".join(f'<th colspan="{span}">{html.escape(text)}</th>' for text, span in header)
        head.append(f"<tr>{names}{cells}</tr>")
    body = []
    for labels, entries in printed.rows:
        names = "".join(f'<th scope="row">{html.escape(label)}</th>' for label in labels)
        body.append(f"<tr>{names}{''.join(map(_html_entry, entries))}</tr>")
    caption = f"<caption>{html.escape(printed.caption)}</caption>"
    rows = "\n".join([caption, "<thead>", *head, "</thead>", "<tbody>", *body, "</tbody>"])
    text = "\n".join([f"<table>\n{rows}\n</table>", *(f"<p>{html.escape(note)}</p>" for note in printed.notes), ""])
    return text.encode("ascii", "xmlcharrefreplace").decode()


def to_dict(table: Table) -> dict[str, Any]:
    """The table for other programs: every cell with its numbers as they are, not rounded."""
    layout = table.layout
    cells = []
    for row in table.row_keys:
        for col in table.col_keys:
            if (cell := table.cells.get((row, col))) is None:
                continue
            shown = {
                "row": dict(zip(layout.rows, row, strict=True)),
                "col": dict(zip(layout.cols, col, strict=True)),
                "metric": cell.metric,
                "mean": cell.mean,
                "std": cell.std,
                "n": cell.n,
                "best": cell.best,
                "diverged": cell.diverged,
                "never": cell.never,
                "runs": [run["run_id"] for run in cell.runs],
            }
            if table.baseline is not None:
                shown["difference"] = asdict(cell.difference) if cell.difference else None
            if table.with_published:
                shown["published"] = asdict(cell.published) if cell.published else None
            cells.append(shown)
    return {"value": layout.value, "over": list(layout.over), "baseline": table.baseline, "cells": cells}


def csv_table(table: Table) -> str:
    """One line a cell, numbers as they are."""
    rows = []
    for cell in to_dict(table)["cells"]:
        row = {**cell["row"], **cell["col"], "value": table.layout.value, "metric": cell["metric"]}
        row |= {name: cell[name] for name in ("mean", "std", "n", "diverged", "never")}
        row |= {f"best_{name}": cell["best"].get(name) for name in table.layout.best}
        if table.baseline is not None:
            difference = cell["difference"] or dict.fromkeys(("mean", "low", "high", "p", "n"))
            row |= {f"difference_{name}": value for name, value in difference.items()}
        if table.with_published:
            published = cell["published"] or {}
            row |= {f"published_{name}": published.get(name) for name in ("mean", "std", "depth", "paper")}
        rows.append(row)
    return to_csv(rows)


def to_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows of the same keys as CSV in which no text can be taken for a formula by a spreadsheet."""
    rows = list(rows)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows([_csv(value) for value in row.values()] for row in rows)
    return text.getvalue()


FORMATS: dict[str, Callable[[Table, Printed, str], str]] = {
    "markdown": lambda table, printed, command: markdown(printed),
    "latex": lambda table, printed, command: latex(printed, command),
    "csv": lambda table, printed, command: csv_table(table),
    "json": lambda table, printed, command: to_json(to_dict(table)).decode(),
    "html": lambda table, printed, command: html_table(printed),
}
# By how the name of a file ends.
SUFFIXES = {"md": "markdown", "tex": "latex", "csv": "csv", "json": "json", "html": "html"}


def render(form: str, table: Table, printed: Printed, command: str = "") -> str:
    """A table in one of FORMATS; `command` is what makes it, for those that say so."""
    return FORMATS[form](table, printed, command)


def flat_headers(printed: Printed) -> list[str]:
    """The header of every column on one line."""
    levels: Sequence[list[str]] = [[text for text, span in line for _ in range(span)] for line in printed.headers]
    return [", ".join(texts) for texts in zip(*levels, strict=True)]


def _csv(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return to_csv_text(plain(value))


def _markdown(text: str) -> str:
    escaped = html.escape(plain(text), quote=False)
    return re.sub(r"([\\`*_\[\]|~$])", r"\\\1", escaped)


def _markdown_entry(entry: Entry) -> str:
    text = _markdown(entry.text)
    return {"bold": f"**{text}**", "underline": f"<u>{text}</u>", None: text}[entry.mark] + _markdown(entry.remark)


def _latex(text: str) -> str:
    return "".join(map(_latex_character, plain(text)))


def _latex_character(character: str) -> str:
    if character in _LATEX:
        return _LATEX[character]
    return character if character.isascii() or character in _LATEX_LETTERS else f"{{[}}U+{ord(character):04X}{{]}}"


def _latex_header(text: str, span: int) -> str:
    return _latex(text) if span == 1 else rf"\multicolumn{{{span}}}{{c}}{{{_latex(text)}}}"


def _latex_entry(entry: Entry) -> str:
    text = _latex(entry.text)
    marked = {"bold": rf"\textbf{{{text}}}", "underline": rf"\underline{{{text}}}", None: text}[entry.mark]
    return marked + _latex(entry.remark)


def _rules(header: list[tuple[str, int]], start: int) -> Iterable[str]:
    for _, span in header:
        yield rf"\cmidrule(lr){{{start}-{start + span - 1}}}"
        start += span


def _html_entry(entry: Entry) -> str:
    text = html.escape(entry.text)
    marked = {"bold": f"<strong>{text}</strong>", "underline": f"<u>{text}</u>", None: text}[entry.mark]
    return f"<td>{marked}{html.escape(entry.remark)}</td>"
