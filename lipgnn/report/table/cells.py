"""The one table behind every format: runs grouped into cells, averaged, never mixed."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lipgnn.errors import UsageError, unknown_name
from lipgnn.report.table.layout import GROUPS, Layout
from lipgnn.report.table.papers import PaperNumber
from lipgnn.report.table.statistics import Difference, mean, paired_difference, sample_std
from lipgnn.report.table.values import higher_is_better, is_score
from lipgnn.results.columns import Row
from lipgnn.results.conditions import find_value, order
from lipgnn.spec.run import HOW

Key = tuple[Any, ...]

# These change the data and with it the fingerprint.
DATA_FIELDS = ("dataset", "split", "missing", "features")
# A choice of the best does not bring these along: it would be one among numbers that cannot be compared.
_NEVER_FOLLOWING = {*DATA_FIELDS, "fingerprint", "metric"}


@dataclass(frozen=True)
class Cell:
    """The runs of one row and one column.

    Attributes
    ----------
    mean, std : of the runs that are done; None without any, std also for a single one.
    values : the single values, by the values of the fields averaged over.
    best : the value of every field that was chosen by mean validation score.
    diverged : how many of the runs diverged; they are in no mean.
    never : how many of the others never reached what the value counts the epochs to; they are in no mean either.
    spec : the options that all runs of the cell share.
    runs : the runs behind the cell, diverged ones included.
    difference : to the baseline, if one was asked for and has runs in common.
    published : the number of a paper for this cell, if asked for and known.
    """

    mean: float | None
    std: float | None
    values: dict[Key, float]
    best: dict[str, Any]
    diverged: int
    never: int
    spec: dict[str, Any]
    runs: tuple[Row, ...]
    difference: Difference | None = None
    published: PaperNumber | None = None

    @property
    def n(self) -> int:
        """How many runs the mean is of."""
        return len(self.values)

    @property
    def metric(self) -> str:
        """What a score in this cell is; a cell without runs has a number of a paper."""
        return self.spec["metric"] if self.spec else self.published.metric


@dataclass(frozen=True)
class Table:
    """Cells by row key and column key; a pair without a cell has no runs.

    Attributes
    ----------
    row_keys, col_keys : in the order they are shown.
    baseline : what differences are to, if anything: a norm, or a field and its value.
    with_published : whether numbers of papers were asked for.
    following : fields that go with those chosen, such as epochs that grow with layers.
    differing : in what else the runs of its cells differ (see `lipgnn.report.table.joined`).
    """

    layout: Layout
    row_keys: tuple[Key, ...]
    col_keys: tuple[Key, ...]
    cells: dict[tuple[Key, Key], Cell]
    baseline: str | None = None
    with_published: bool = False
    following: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()

    @cached_property
    def usual_n(self) -> int:
        """The largest number of runs in a cell; cells with fewer are flagged."""
        return max(cell.n for cell in self.cells.values())

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of all cells, each once."""
        return tuple(dict.fromkeys(cell.metric for cell in self.cells.values()))

    @cached_property
    def metrics_by_column(self) -> dict[Key, tuple[str, ...]]:
        """The metrics of the cells of every column, each once."""
        found: dict[Key, dict[str, None]] = {}
        for (_, col), cell in self.cells.items():
            found.setdefault(col, {})[cell.metric] = None
        return {col: tuple(metrics) for col, metrics in found.items()}


def build_table(runs: Iterable[Row], layout: Layout) -> Table:
    """Group the runs into cells.

    Raises
    ------
    UsageError : a cell would average runs that differ in more than the fields averaged over.
    """
    groups: dict[tuple[Key, Key], list[Row]] = defaultdict(list)
    for run in runs:
        groups[_key(run, layout.rows), _key(run, layout.cols)].append(run)
    following = _refuse_mixtures(groups.values(), layout)
    cells = {place: _cell(members, layout) for place, members in groups.items()}
    row_keys = ordered((row for row, _ in cells), layout.rows)
    col_keys = ordered((col for _, col in cells), layout.cols)
    return Table(layout, row_keys, col_keys, cells, following=following)


def ordered(keys: Iterable[Key], names: Sequence[str]) -> tuple[Key, ...]:
    """Keys of rows or columns in the order they are shown, each once."""
    return tuple(sorted(set(keys), key=lambda key: [order(*pair) for pair in zip(names, key, strict=True)]))


def sort_rows(table: Table, by: str) -> Table:
    """Order the rows by one of their fields, or by `value`: the last column, best first. A leading - reverses."""
    name, reverse = by.removeprefix("-"), by.startswith("-")
    names = table.layout.rows
    if name in names:
        index = names.index(name)
        keys = sorted(table.row_keys, key=lambda key: order(name, key[index]), reverse=reverse)
    elif name == "value":
        means = {key: getattr(table.cells.get((key, table.col_keys[-1])), "mean", None) for key in table.row_keys}
        metric, *others = table.metrics_by_column[table.col_keys[-1]]
        if others and is_score(table.layout.value):
            raise UsageError("Numbers of different metrics have no order.", f"Choose one: --where metric={metric}")
        shown = [key for key in table.row_keys if means[key] is not None]
        shown.sort(key=means.get, reverse=higher_is_better(table.layout.value, metric) != reverse)
        keys = [*shown, *(key for key in table.row_keys if means[key] is None)]
    else:
        raise unknown_name("field to sort by", name, [*names, "value"])
    return replace(table, row_keys=tuple(keys))


def compare(table: Table, baseline: str) -> Table:
    """Add to every cell its paired difference to the cell of the same metric that differs in one field alone.

    Parameters
    ----------
    baseline : FIELD=VALUE of that cell, such as layers=2; without a field it is a norm.

    Raises
    ------
    UsageError : the field makes neither rows nor columns, or the value is not among them.
    """
    layout = table.layout
    name, given, text = baseline.rpartition("=")
    name = name if given else "norm"
    shown = (*layout.rows, *layout.cols)
    if name not in shown:
        raise UsageError(
            f"--compare {baseline} needs {name} in the table, which has {', '.join(shown)}.", f"Add {name} to --rows."
        )
    value = find_value(name, text, {cell.spec[name] for cell in table.cells.values()})

    def swapped(key: Key, names: Sequence[str]) -> Key:
        return tuple(value if field == name else own for field, own in zip(names, key, strict=True))

    cells = dict(table.cells)
    for (row, col), cell in table.cells.items():
        other = table.cells.get((swapped(row, layout.rows), swapped(col, layout.cols)))
        if other is not None and other is not cell and other.metric == cell.metric:
            cells[row, col] = replace(cell, difference=paired_difference(cell.values, other.values))
    return replace(table, cells=cells, baseline=f"{name} {value}" if given else text)


def _cell(members: list[Row], layout: Layout) -> Cell:
    chosen, best = _select(members, layout.best)
    spec = {name: chosen[0][name] for name in GROUPS if name not in (*layout.over, *layout.best, "version")}
    done = [run for run in chosen if run["status"] == "done"]
    values = {_key(run, layout.over): run[layout.value] for run in done if run[layout.value] is not None}
    numbers = list(values.values())
    center = mean(numbers) if numbers else None
    diverged, never = len(chosen) - len(done), len(done) - len(values)
    return Cell(center, sample_std(numbers), values, best, diverged, never, spec, tuple(chosen))


def _select(members: list[Row], names: Sequence[str]) -> tuple[list[Row], dict[str, Any]]:
    """The runs with the values of `names` whose mean validation score is best; test is never looked at.

    A diverged run counts against them, as the worst score there is: 0, or infinity where less is better. Else one seed
    that went well would speak for nine that did not. Values of which no run is done are not chosen.

    The first in order wins a tie, which for layers is the shallowest.
    """
    if not names:
        return members, {}
    groups: dict[Key, list[Row]] = defaultdict(list)
    for run in members:
        groups[_key(run, names)].append(run)
    more = higher_is_better("val_score", members[0]["metric"])
    scores = {}
    for key in sorted(groups, key=lambda key: [order(*pair) for pair in zip(names, key, strict=True)]):
        done = [run["val_score"] for run in groups[key] if run["status"] == "done"]
        if done:
            scores[key] = mean([*done, *[0.0 if more else math.inf] * (len(groups[key]) - len(done))])
    if not scores:
        return members, {}
    winner = (max if more else min)(scores, key=scores.get)
    return groups[winner], dict(zip(names, winner, strict=True))


def _refuse_mixtures(groups: Iterable[list[Row]], layout: Layout) -> tuple[str, ...]:
    """Refuse cells of runs that differ in what the layout does not name.

    Returns
    -------
    the fields that differ, but have one value for every choice of the best: they are chosen along with it.
    """
    free = {*layout.rows, *layout.cols, *layout.over, *layout.best, *HOW, "version"}
    if {*DATA_FIELDS} & {*layout.over, *layout.best}:
        free.add("fingerprint")
    varying: dict[str, Counter] = defaultdict(Counter)
    following: dict[str, None] = {}
    names = (*layout.over, *layout.best)
    for members in groups:
        for name in GROUPS:
            if name in free or len(counts := Counter(run[name] for run in members)) == 1:
                continue
            if name not in _NEVER_FOLLOWING and _goes_with(layout.best, name, members):
                following[name] = None
            else:
                varying[name] += counts
        if not varying and len({_key(run, names) for run in members}) < len(members):
            _refuse_repeats(members, names)
    if varying:
        raise _mixture(varying, layout)
    return tuple(following)


def _mixture(varying: dict[str, Counter], layout: Layout) -> UsageError:
    """The error for cells of runs that differ in these fields, with how often they have which value."""
    if varying.keys() & {*DATA_FIELDS}:
        # It only follows.
        varying.pop("fingerprint", None)
    texts = [
        f"{name} ({', '.join(str(v) for v in sorted(counts, key=lambda v: order(name, v))[:8])})"
        for name, counts in varying.items()
    ]
    ways = choices_between(varying, layout)
    if varying.keys() == {"split"}:
        ways.append(f"average over them: --over {','.join([*layout.over, 'split'])}")
    return UsageError(f"Cells would average runs that differ in {', '.join(texts)}.", f"{', or '.join(ways)}.")


def choices_between(varying: dict[str, Counter], layout: Layout) -> list[str]:
    """What can be typed where runs differ in these fields: one value of each, or all of them in rows of their own."""
    one = " ".join(f"--where {name}={counts.most_common(1)[0][0]}" for name, counts in varying.items())
    return [f"Choose, for example {one}", f"show each: --rows {','.join([*layout.rows, *varying])}"]


def _goes_with(chosen: Sequence[str], name: str, members: list[Row]) -> bool:
    """Whether a field has one value wherever the chosen fields have the same ones."""
    return len({_key(run, (*chosen, name)) for run in members}) == len({_key(run, chosen) for run in members})


def _refuse_repeats(members: list[Row], names: Sequence[str]) -> None:
    first: dict[Key, Row] = {}
    for run in members:
        other = first.setdefault(_key(run, names), run)
        if other is not run:
            what = "".join(f", {name} {run[name]}" for name in names)
            raise UsageError(
                f"Runs {other['run_id']} and {run['run_id']} are two of the same options{what}.",
                "Choose with --where version=… or --where run_id=….",
            )


def _key(run: Row, names: Sequence[str]) -> Key:
    return tuple(run[name] for name in names)
