"""A table as it is printed: headers, texts, marks, caption and notes, the same for every format."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from lipgnn.catalog import CHOICES, METRICS, horizon_words
from lipgnn.report.table.cells import DATA_FIELDS, Cell, Key, Table
from lipgnn.report.table.statistics import CONFIDENCE, Difference
from lipgnn.report.table.values import (
    DISTANCE,
    heading_of,
    higher_is_better,
    in_percent,
    is_score,
    metric_words,
    scale_of,
    words_of,
)
from lipgnn.report.view.set_up import common_set_up, set_up_of
from lipgnn.spec.grid import as_ranges

DASH = "–"
MINUS = "−"


@dataclass(frozen=True)
class Entry:
    """The text of a cell: its number, set in bold or underlined or neither, and what is said about it."""

    text: str
    mark: str | None = None
    remark: str = ""


@dataclass(frozen=True)
class Printed:
    """What a format has to set.

    Attributes
    ----------
    row_fields : names over the labels of the rows.
    headers : lines of the header from the top, each a list of text and number of columns it spans.
    rows : labels and entries.
    caption : what the numbers are.
    notes : what else a reader must know, a sentence each.
    label, wide : of LaTeX alone (see `lipgnn.report.view.paper`).
    """

    row_fields: tuple[str, ...]
    headers: list[list[tuple[str, int]]]
    rows: list[tuple[tuple[str, ...], list[Entry]]]
    caption: str
    notes: list[str]
    label: str | None = None
    wide: str | None = None

    @property
    def width(self) -> int:
        """Number of columns beside the labels."""
        return sum(span for _, span in self.headers[-1])


def as_printed(table: Table, *, bold: str = "best", underline: str = "second") -> Printed:
    """Print the cells of a table.

    Parameters
    ----------
    bold, underline : which rank in a column is marked so: best, second or none.
    """
    columns = [(key, kind) for key in table.col_keys for kind in _kinds(table, key)]
    texts = {column: [_text(table, row, *column) for row in table.row_keys] for column in columns}
    marks = {column: _marks(table, column, bold, underline) for column in columns}
    rows = [
        (
            tuple(plain(value) for value in key),
            [Entry(texts[column][index][0], marks[column][index], texts[column][index][1]) for column in columns],
        )
        for index, key in enumerate(table.row_keys)
    ]
    return Printed(table.layout.rows, _headers(table, columns), rows, _caption(table), _notes(table))


def _kinds(table: Table, col: Key) -> list[str]:
    """What a column has: our number; where any row has that of a paper, our set-up and that; the difference."""
    published = any(cell.published for (_, own), cell in table.cells.items() if own == col)
    beside = ["published"] if published else []
    beside = ["set-up", *beside] if beside and common_set_up(table) is None else beside
    return ["ours", *beside, *(["difference"] if table.baseline is not None else [])]


def plain(value: object) -> str:
    """Text on one line with every control character spelled out."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def number(value_name: str, value: float) -> str:
    """A number as printed: shares in percent with one decimal, others with four significant digits."""
    if in_percent(value_name):
        return f"{scale_of(value_name) * value:.1f}"
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        digits = 3 - math.floor(math.log10(abs(value))) if value else 0
        return f"{value:.{min(max(digits, 0), 7)}f}"
    return f"{value:.3g}"


def mean_and_std(value_name: str, center: float, std: float | None) -> str:
    """A mean with its deviation, to the same decimals; without one there is no ±."""
    text = number(value_name, center)
    if std is None:
        return text
    if in_percent(value_name) or "e" in text:
        return f"{text} ± {number(value_name, std)}"
    return f"{text} ± {std:.{len(text.partition('.')[2])}f}"


def difference_text(value_name: str, difference: Difference) -> str:
    """A paired difference with its interval and p-value, as far as there are any."""
    texts = [_signed(value_name, difference.mean)]
    if difference.p is not None:
        texts[0] += f" ({_signed(value_name, difference.low)} to {_signed(value_name, difference.high)})"
        texts.append("p < 0.001" if difference.p < 0.001 else f"p = {difference.p:.2g}")
    return ", ".join([*texts, f"n = {difference.n}"])


def _signed(value_name: str, value: float) -> str:
    return ("+" if value >= 0 else MINUS) + number(value_name, abs(value))


def _text(table: Table, row: Key, col: Key, kind: str) -> tuple[str, str]:
    """The number of a cell and the remark on it."""
    cell, value = table.cells.get((row, col)), table.layout.value
    if cell is None:
        return DASH, ""
    if kind == "ours":
        text, remark = _ours(cell, value, table.usual_n)
        return text, remark + (f", {metric_words([cell.metric])}" if _mixed(table, col) and cell.n else "")
    if kind == "set-up":
        return set_up_of(cell.runs) or DASH, ""
    if kind == "published" and cell.published:
        stated = "layers" in table.layout.best and cell.published.depth is not None
        depth = f" ({cell.published.depth})" if stated else ""
        return mean_and_std(value, cell.published.mean, cell.published.std) + depth, ""
    if kind == "difference" and cell.difference:
        return difference_text(value, cell.difference), ""
    return DASH, ""


def _ours(cell: Cell, value: str, usual_n: int) -> tuple[str, str]:
    if cell.mean is None and cell.never:
        return f"never ({cell.never})", f", {cell.diverged} diverged" if cell.diverged else ""
    if cell.mean is None:
        return (f"diverged ({cell.diverged})" if cell.diverged else DASH), ""
    text = mean_and_std(value, cell.mean, cell.std)
    if cell.best:
        text += f" ({', '.join(map(plain, cell.best.values()))})"
    remark = f", n = {cell.n}" if cell.n != usual_n else ""
    remark += f", {cell.never} never" if cell.never else ""
    return text, remark + (f", {cell.diverged} diverged" if cell.diverged else "")


def _number(table: Table, row: Key, col: Key, kind: str) -> float | None:
    """The mean as a reader sees it, by which marks are given; none where some runs never came to what it counts."""
    cell = table.cells.get((row, col))
    if cell is not None and cell.never:
        return None
    source = {"ours": cell, "published": getattr(cell, "published", None)}.get(kind)
    center = getattr(source, "mean", None)
    return None if center is None else float(number(table.layout.value, center))


def _marks(table: Table, column: tuple[Key, str], bold: str, underline: str) -> list[str | None]:
    """How the number of every row is marked, among those of the same data.

    Numbers of different metrics have no rank, and distances have none.
    """
    if _mixed(table, column[0]) or table.layout.value == DISTANCE:
        return [None] * len(table.row_keys)
    (metric, *_) = table.metrics_by_column[column[0]]
    upwards = higher_is_better(table.layout.value, metric)
    places = [place for place, name in enumerate(table.layout.rows) if name in DATA_FIELDS]
    by_data: dict[Key, dict[Key, float | None]] = {}
    for row in table.row_keys:
        by_data.setdefault(tuple(row[place] for place in places), {})[row] = _number(table, row, *column)
    styles = {underline: "underline", bold: "bold"}
    marks = {}
    for numbers in by_data.values():
        ranks = sorted({value for value in numbers.values() if value is not None}, reverse=upwards)
        # One number, or many equal ones, are not best of anything.
        by_rank = dict(zip(ranks, ("best", "second"), strict=False)) if len(ranks) > 1 else {}
        marks |= {row: styles.get(by_rank.get(value)) for row, value in numbers.items()}
    return [marks[row] for row in table.row_keys]


def _headers(table: Table, columns: Sequence[tuple[Key, str]]) -> list[list[tuple[str, int]]]:
    lines = []
    for level, name in enumerate(table.layout.cols):
        groups = groupby(columns, key=lambda column: column[0][: level + 1])
        lines.append([(_header(name, key[-1]), len(list(members))) for key, members in groups])
    if is_score(table.layout.value) and len(table.metrics) > 1:
        groups = groupby(columns, key=lambda column: metric_words(table.metrics_by_column[column[0]]))
        lines.append([(plain(words), len(list(members))) for words, members in groups])
    if len(columns) > len(table.col_keys) or not table.layout.cols:
        ours = "ours" if table.with_published else heading_of(table.layout.value, table.metrics)
        labels = {
            "ours": ours,
            "set-up": "our set-up",
            "published": "published",
            "difference": f"against {table.baseline}",
        }
        lines.append([(plain(labels[kind]), 1) for _, kind in columns])
    return lines


def _mixed(table: Table, col: Key) -> bool:
    """Whether a column has scores of several metrics."""
    return is_score(table.layout.value) and len(table.metrics_by_column[col]) > 1


def _header(name: str, value: object) -> str:
    """Names speak for themselves; a number needs the name of its field."""
    return plain(value) if isinstance(value, str) else f"{name} {plain(value)}"


def _caption(table: Table) -> str:
    layout = table.layout
    unit = " in %" if in_percent(layout.value) else ""
    parts = [plain(heading_of(layout.value, table.metrics)) + unit]
    if table.usual_n > 1:
        parts.append(f"mean ± sample standard deviation over {_averaged(table)}")
    unequal = any(cell.n != table.usual_n for cell in table.cells.values() if cell.n)
    parts.append(f"n = {table.usual_n}" + (" unless stated" if unequal else ""))
    if layout.best:
        along = f", each with its own {', '.join(table.following)}" if table.following else ""
        score = words_of("val_score", table.metrics)
        parts.append(f"in parentheses {', '.join(layout.best)}{along}, chosen by mean {score}")
    return "; ".join(parts) + "."


def _averaged(table: Table) -> str:
    """The fields averaged over, with their values where all cells have the same few."""
    seen = {tuple(sorted(cell.values)) for cell in table.cells.values() if cell.n == table.usual_n}
    names = ", ".join(table.layout.over)
    if len(seen) != 1 or table.usual_n > 10:
        return names
    return f"{names} {as_ranges('/'.join(map(plain, key)) for key in seen.pop())}"


def _horizons(table: Table) -> list[str]:
    """How many steps walks have, of the runs that are about walks."""
    runs = (run for cell in table.cells.values() for run in cell.runs)
    walks = (run for run in runs if run["metric"] in METRICS and METRICS[run["metric"]].about == CHOICES)
    return sorted({run["horizon"] for run in walks})


def differing_words(table: Table) -> str | None:
    """In what the runs of a table differ beside what it shows, as a sentence; None where they do not."""
    return (
        f"The runs of these cells also differ in {', '.join(map(plain, table.differing))}." if table.differing else None
    )


def _runs(count: int, kind: str = "") -> str:
    return f"1 {kind}run is" if count == 1 else f"{count} {kind}runs are"


def _notes(table: Table) -> list[str]:
    notes = [differing] if (differing := differing_words(table)) else []
    if diverged := sum(cell.diverged for cell in table.cells.values()):
        notes.append(f"{_runs(diverged, 'diverged ')} excluded from the means.")
    if never := sum(cell.never for cell in table.cells.values()):
        notes.append(f"{_runs(never)} excluded from the means for never having reached it.")
    notes += [f"Steps of a walk: {horizon_words(name)}." for name in _horizons(table)]
    if table.baseline is not None:
        notes.append(
            f"Against {plain(table.baseline)}: mean paired difference over common {', '.join(table.layout.over)} with "
            f"its {CONFIDENCE:.0%} confidence interval and p of the paired t-test, not adjusted for several tests."
        )
    shown = [cell.published for cell in table.cells.values() if cell.published]
    if shown:
        notes.append(f"Our set-up, heads × width and most epochs: {common_set_up(table) or 'in the table'}.")
    notes += [f"Published: {text}." for text in dict.fromkeys(f"{p.paper}, {p.table}; {p.source}" for p in shown)]
    pairs = ((cell.spec["dataset"], cell) for cell in table.cells.values() if cell.published and "dataset" in cell.spec)
    smaller = dict.fromkeys(plain(name) for name, cell in pairs if cell.published.scaled_down(cell.spec))
    if smaller:
        notes.append(f"Scaled down from the published data set: {', '.join(smaller)}.")
    if table.with_published and not shown:
        notes.append("No published number is of these cells.")
    return notes
