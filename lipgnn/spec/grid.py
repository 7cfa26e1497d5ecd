"""From a grid of values to the list of its runs: crossed, paired and fixed options. No torch here.

On the command line every run option takes a list, `--layers 2,5,10`, and whole numbers take ranges, `2-30:4`. A TOML
file says the same in three tables::

    [grid]                      # every value with every other
    layers = [2, 5, 10]
    norm = ["none", "lip"]
    [zip]                       # first with first, second with second
    dataset = ["cora", "pubmed"]
    lr = [0.005, 0.01]
    [fixed]
    epochs = 100
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lipgnn.errors import UsageError, naming, unknown_name
from lipgnn.spec.options import shown
from lipgnn.spec.run import FIELDS, RunSpec, parse_value
from lipgnn.spec.sources import resolve
from lipgnn.spec.toml import read_toml
from lipgnn.words import counted

TABLES = ("grid", "zip", "fixed")
MAX_RUNS = 100_000
"""More than this is a slip of the keyboard: a plan of so many takes a minute and a gigabyte."""
_RANGE = re.compile(r"(\d{1,18})-(\d{1,18})(?::(\d{1,18}))?", re.ASCII)
_NUMBERED_SPLITS = re.compile("(geom-gcn|random):")
# What ends in a number that is counted, alone or behind a colon: 7, random:7.
_COUNTED = re.compile(r"(.*:|)(0|[1-9]\d*)", re.ASCII)


@dataclass(frozen=True)
class Grid:
    """The values of a sweep.

    Attributes
    ----------
    crossed : options whose values are combined with all others.
    paired : options whose values go together, one by one; all of one length.
    fixed : options with one value.

    Raises
    ------
    UsageError : an unknown option, an option given twice, an empty list, or paired lists of different lengths.
    """

    crossed: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    paired: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [*self.crossed, *self.paired, *self.fixed]
        for name in names:
            if name not in FIELDS:
                raise unknown_name("option of a sweep", name, FIELDS)
            if names.count(name) > 1:
                raise UsageError(f"{name} is given in two tables of the sweep.", "Keep one of them.")
        for name, values in {**self.crossed, **self.paired}.items():
            if not values:
                raise UsageError(f"{name} has no value to sweep over.")
        lengths = {name: len(values) for name, values in self.paired.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise UsageError(f"Paired options need as many values each, got {told}.", "Or cross them under [grid].")

    def with_values(self, lists: Mapping[str, Sequence[Any]]) -> Grid:
        """The grid with options of the command line in place of its own; they are crossed."""
        return self.overlaid(Grid(lists))

    def overlaid(self, other: Grid) -> Grid:
        """The grid with the options of another one in place of its own, each in the table the other has it in."""
        named = {*other.crossed, *other.paired, *other.fixed}
        kept = ({k: v for k, v in table.items() if k not in named} for table in (self.crossed, self.paired, self.fixed))
        crossed, paired, fixed = kept
        return Grid({**crossed, **other.crossed}, {**paired, **other.paired}, {**fixed, **other.fixed})

    def values_of(self, name: str) -> list[Any]:
        """The values an option takes; none if the grid does not mention it."""
        if name in self.fixed:
            return [self.fixed[name]]
        return list(self.crossed.get(name) or self.paired.get(name) or [])

    def restricted(self, name: str, values: Collection[Any]) -> Grid | None:
        """The grid with these values of an option only, partners included; None where it has none of them."""
        if not any(value in values for value in self.values_of(name)):
            return None
        crossed, paired = dict(self.crossed), dict(self.paired)
        if name in crossed:
            crossed[name] = [value for value in crossed[name] if value in values]
        if name in paired:
            kept = [value in values for value in paired[name]]
            paired = {key: list(itertools.compress(column, kept)) for key, column in paired.items()}
        return Grid(crossed, paired, self.fixed)

    @property
    def size(self) -> int:
        """How many combinations there are."""
        pairs = len(next(iter(self.paired.values()), [None]))
        return math.prod(map(len, self.crossed.values())) * pairs

    def runs(self, environ: Mapping[str, str]) -> tuple[list[RunSpec], list[str]]:
        """All runs of this grid; see `runs_of`."""
        return runs_of([self], environ)

    def combinations(self) -> Iterator[dict[str, Any]]:
        """The options of every run in order, as far as the grid gives them."""
        pairs = list(zip(*self.paired.values(), strict=True)) if self.paired else [()]
        for crossed in itertools.product(*self.crossed.values()):
            for paired in pairs:
                chosen = {**self.fixed, **dict(zip(self.paired, paired, strict=True))}
                chosen.update(zip(self.crossed, crossed, strict=True))
                yield chosen


def runs_of(
    grids: Iterable[Grid], environ: Mapping[str, str], preset: str | None = None
) -> tuple[list[RunSpec], list[str]]:
    """All runs of several grids in order, each once, and why some combinations are none.

    Values not in the grid come from the environment, the preset and the defaults, as for a single run.

    Raises
    ------
    UsageError : no combination is a run.
    """
    runs: dict[RunSpec, None] = {}
    # Each value is one that its option takes; what remains is that some do not go together.
    refused: dict[str, int] = {}
    grids = list(grids)
    _check_count(sum(grid.size for grid in grids), "The combinations of the sweep")
    for grid in grids:
        for chosen in grid.combinations():
            try:
                runs[resolve(chosen, environ, preset=preset).spec] = None
            except UsageError as error:
                refused[error.message] = refused.get(error.message, 0) + 1
    if not runs:
        raise UsageError(f"No combination of the sweep is a run: {next(iter(refused), 'there is none.')}")
    return list(runs), [_left_out(count, message) for message, count in refused.items()]


def _left_out(count: int, message: str) -> str:
    return f"{counted(count, 'combination')} {'is' if count == 1 else 'are'} left out: {message}"


def parse_list(name: str, text: str) -> list[Any]:
    """The values of one option in a list such as `2,5,10` or, where it takes whole numbers, `0-4` and `2-30:4`.

    Numbered splits are a range as well: `geom-gcn:0-9` and `random:0-4`.

    Raises
    ------
    UsageError : an empty item, a range that runs backwards, or a value the option does not take.
    """
    if name not in FIELDS:
        raise unknown_name("option", name, FIELDS)
    values: list[Any] = []
    for item in text.split(","):
        if not item.strip():
            raise UsageError(
                f"{name} has an empty value in {shown(text)}.",
                "Put one comma between values, and none at the ends.",
            )
        numbered = FIELDS[name].type == "int" or FIELDS[name].metadata.get("or_number") is int
        kind, colon, numbers = item.strip().partition(":") if _NUMBERED_SPLITS.match(item.strip()) else ("", "", item)
        match = _RANGE.fullmatch(numbers.strip()) if numbered else None
        if match:
            first, last, step = (int(number or 1) for number in match.groups())
            if last < first or step < 1:
                raise UsageError(f"{name} has the empty range {item!r}.", "Write FIRST-LAST or FIRST-LAST:STEP.")
            _check_count(len(values) + (last - first) // step + 1, f"The values of {name}")
            values += [parse_value(name, f"{kind}{colon}{value}") for value in range(first, last + 1, step)]
        else:
            values.append(parse_value(name, item.strip()))
    return values


def as_ranges(values: Iterable[int | str]) -> str:
    """0–4, 7 for 0, 1, 2, 3, 4 and 7; public, random:0–2 for splits; texts without a number stand as they are."""
    numbers: dict[str, list[int]] = {}
    for value in dict.fromkeys(map(str, values)):
        match = _COUNTED.fullmatch(value)
        head, found = (match[1], [int(match[2])]) if match else (value, [])
        numbers.setdefault(head, []).extend(found)
    return ", ".join(head + span for head, found in numbers.items() for span in _spans(found) or [""])


def _spans(numbers: Iterable[int]) -> list[str]:
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and spans[-1][-1] == number - 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return [f"{span[0]}–{span[-1]}" if len(span) > 1 else str(span[0]) for span in spans]


def parse_lists(options: Mapping[str, str | None], settings: Iterable[str] = ()) -> dict[str, list[Any]]:
    """The values of several options, each by `parse_list`.

    Parameters
    ----------
    options : lists by the name of their option; None where an option is not given.
    settings : further ones in the form KEY=VALUES, which beat `options`.

    Raises
    ------
    UsageError : a setting of another form, or as for `parse_list`.
    """
    lists = {name: parse_list(name, text) for name, text in options.items() if text is not None}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"--set takes KEY=VALUES, got {setting!r}.", "For instance --set lr=0.001,0.01")
        name = key.replace("-", "_")
        lists[name] = parse_list(name, text)
    return lists


def read_grid(path: Path) -> Grid:
    """A grid from a TOML file with the tables above; single values count as lists of one.

    Raises
    ------
    UsageError : the file cannot be read, has other tables or options, or has none.
    """
    grid = grid_of(read_toml(path, "sweep"), repr(str(path)))
    if not (grid.crossed or grid.paired or grid.fixed):
        # One run of nothing but defaults is not what anybody writes a file for.
        raise UsageError(f"The sweep {str(path)!r} has no options.", "Write some: [grid] and, say, layers = [2, 4, 8]")
    return grid


def grid_of(content: Mapping[str, Any], place: str) -> Grid:
    """A grid from the content of a file or of a part of it.

    Parameters
    ----------
    place : where the content stands, for error messages.
    """
    for name, table in content.items():
        if name in FIELDS:
            raise UsageError(
                f"{name} stands in no table of {place}.", "Put it under [grid], or with one value under [fixed]."
            )
        if name not in TABLES:
            raise unknown_name(f"table in {place}", name, TABLES)
        if not isinstance(table, dict):
            raise UsageError(f"{name!r} in {place} is no table.", f"Write [{name}] on a line of its own.")
    with naming(place):
        crossed, paired = (
            {key: _as_list(key, value) for key, value in content.get(name, {}).items()} for name in ("grid", "zip")
        )
        fixed = content.get("fixed", {})
        known = {key: parse_value(key, value) for key, value in fixed.items() if key in FIELDS}
    return Grid(crossed, paired, {**fixed, **known})


def _check_count(count: int, what: str) -> None:
    if count > MAX_RUNS:
        raise UsageError(
            f"{what} are {count:,}, and a sweep has at most {MAX_RUNS:,} runs.", "Take fewer, or sweep them in parts."
        )


def _as_list(name: str, value: Any) -> list[Any]:
    if isinstance(value, str):
        return parse_list(name, value)
    values = value if isinstance(value, list) else [value]
    return [parse_value(name, item) for item in values] if name in FIELDS else values
