"""Studies: experiments that ship as TOML files, each a grid or several, at one to three scales. No torch here.

A study may be a plain grid (see lipgnn.spec.grid). One with scales has more tables::

    title = "…"                 # one line, shown by sweep and report
    preset = "sums"             # values of all its runs where nothing else is said
    record = ["gradients"]      # what its runs keep beside their results
    [report]                    # what `report --study` shows where no option says otherwise
    rows = ["model", "norm"]
    [fixed]                     # also [grid] and [zip]: common to all parts
    epochs = 200
    [block.wide.fixed]          # tables that several parts share, by a name of their own
    hidden = 64
    [[small]]                   # one or several parts a scale, laid over what is common
    [small.grid]
    layers = [2, 4]
    [[paper]]
    blocks = ["wide"]           # laid over what is common before the part's own tables, in this order
    [paper.grid]
    layers = [2, 4, 8, 16]
    [protocol.authors]          # options that go together, chosen by --protocol; the first is the default
    features = "raw"
    value = "last_test_score"     # the number that such a report shows
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lipgnn.catalog import check_name
from lipgnn.errors import UsageError, unknown_name
from lipgnn.spec.grid import TABLES, Grid, grid_of, runs_of
from lipgnn.spec.presets import PRESETS
from lipgnn.spec.run import FIELDS, HOW, RunSpec, parse_value
from lipgnn.spec.toml import read_toml

FOLDER = Path(__file__).parent / "studies"
SCALES = ("small", "decide", "paper")
"""Hours on two cores; the runs of the full protocol that decide a question; all of it."""
# Options of a report that a study can give, and whether each is a list; `figure_value` is the value of its figure, and
# `papers` are those, by how their names begin, whose numbers belong to it.
REPORT = {
    "rows": True,
    "cols": True,
    "over": True,
    "best": True,
    "where": True,
    "value": False,
    "sort": False,
    "compare": False,
    "figure": False,
    "figure_value": False,
    "papers": True,
}
_KEYS = ("title", "preset", "record", "report", "protocol", "block", *TABLES, *SCALES)


@dataclass(frozen=True, eq=False)
class Study:
    """An experiment as data.

    Attributes
    ----------
    parts : the grids of every scale; a study without scales has one grid under None.
    protocols : options that go together, by name, the default first.
    values : the number that a report of a protocol shows, where the protocol says so.
    report : options of `lipgnn report`, as far as the study gives them.
    record : what runs keep beside their results.
    preset : where the values of its runs come from, as far as the study does not give them.
    """

    name: str
    parts: Mapping[str | None, Sequence[Grid]]
    protocols: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    record: tuple[str, ...] = ()
    title: str = ""
    preset: str | None = None

    def choose(self, scale: str | None = None, protocol: str | None = None) -> Choice:
        """The study at a scale by a protocol; the defaults are the first of each.

        Raises
        ------
        UsageError : the study has none of that name.
        """
        chosen_scale = self._find("scale", scale, [name for name in self.parts if name])
        return Choice(self, chosen_scale, self._find("protocol", protocol, list(self.protocols)))

    def choices(self) -> list[Choice]:
        """The study at every scale by every protocol, the default first."""
        return [Choice(self, scale, protocol) for scale in self.parts for protocol in self.protocols or (None,)]

    def _find(self, kind: str, asked: str | None, names: list[str]) -> str | None:
        if asked is None:
            return names[0] if names else None
        if not names:
            raise UsageError(f"Study {self.name!r} has no {kind}s.", f"Leave --{kind} out.")
        if asked not in names:
            raise unknown_name(f"{kind} of study {self.name!r}", asked, names)
        return asked


def _naming(grid: Grid, name: str, preset: str | None) -> Grid:
    """The grid with the value that its runs have of an option, named or not; as it is where they have several."""
    if grid.values_of(name):
        return grid
    values = list({getattr(spec, name) for spec in runs_of([grid], {}, preset)[0]})
    return grid.with_values({name: values}) if len(values) == 1 else grid


@dataclass(frozen=True)
class Choice:
    """A study at one of its scales by one of its protocols; both are None where it has none."""

    study: Study
    scale: str | None
    protocol: str | None

    def grids(self, lists: Mapping[str, Sequence[Any]] | None = None) -> list[Grid]:
        """The grids of its parts, with options of the command line.

        Where the study has all values given for an option, only the runs with them are left; otherwise the option
        takes these values in every part. Where some parts name the option, the others have it by default.
        """
        options = Grid(fixed=self.study.protocols.get(self.protocol, {}))
        grids = [part.overlaid(options) for part in self.study.parts[self.scale]]
        for name, values in (lists or {}).items():
            if any(grid.values_of(name) for grid in grids):
                grids = [_naming(grid, name, self.study.preset) for grid in grids]
            known = [value for grid in grids for value in grid.values_of(name)]
            if all(value in known for value in values):
                grids = [kept for grid in grids if (kept := grid.restricted(name, values))]
            else:
                grids = [grid.with_values({name: values}) for grid in grids]
        return grids

    def runs(
        self, environ: Mapping[str, str], lists: Mapping[str, Sequence[Any]] | None = None
    ) -> tuple[list[RunSpec], list[str]]:
        """Its runs with options of the command line; see `runs_of`."""
        return runs_of(self.grids(lists), environ, self.study.preset)

    def identities(self) -> dict[tuple, None]:
        """What its runs compute, in their order; see `identity`."""
        # Without the environment: a study is what its file says.
        return dict.fromkeys(identity(spec.to_dict()) for spec in self.runs({})[0])

    @property
    def heading(self) -> str:
        """One line for people: which study this is, and what it asks."""
        chosen = ", ".join(name for name in (self.scale, self.protocol) if name)
        return f"Study {self.study.name}" + (f" ({chosen})" if chosen else "") + f": {self.study.title or 'untitled'}"

    def words(self) -> list[str]:
        """The options of the command line that choose it."""
        words = ["--study", self.study.name]
        words += ["--scale", self.scale] if self.scale else []
        return words + (["--protocol", self.protocol] if self.protocol else [])


def identity(run: Mapping[str, Any]) -> tuple:
    """What a run computes, whatever the fingerprint of its data: equal for the row and the specification of one run."""
    return tuple(run[name] for name in FIELDS if name not in HOW)


def check_within_study(study: str | None, *choices: str | None) -> None:
    """Refuse a scale or protocol that no study is given for.

    Raises
    ------
    UsageError : there is one.
    """
    if study is None and any(choices):
        raise UsageError("--scale and --protocol choose within a study.", "Add --study NAME.")


def study_names() -> list[str]:
    """The studies that ship."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def read_study(name: str) -> Study:
    """A study that ships.

    Raises
    ------
    UsageError : there is none of that name.
    """
    if name not in study_names():
        raise unknown_name("study", name, study_names())
    return study_of(name, read_toml(FOLDER / f"{name}.toml", "study"))


def study_of(name: str, content: Mapping[str, Any]) -> Study:
    """A study from the content of its file.

    Raises
    ------
    UsageError : an unknown key, a wrong value, or a part that is no grid.
    """
    place = f"study {name!r}"
    for key in content:
        if key not in _KEYS:
            raise unknown_name(f"key in {place}", key, _KEYS)
    common = grid_of({key: content[key] for key in TABLES if key in content}, place)
    blocks = {key: _block(key, tables, place) for key, tables in _table(content, "block", place).items()}
    parts = {
        scale: _parts(content[scale], common, blocks, f"[[{scale}]] of {place}") for scale in SCALES if scale in content
    }
    protocols, values = {}, {}
    for protocol, options in _table(content, "protocol", place).items():
        protocols[protocol], value = _protocol(protocol, options, place)
        values |= {protocol: value} if value else {}
    return Study(
        name,
        parts or {None: [common]},
        protocols,
        values,
        _report(_table(content, "report", place), place),
        tuple(_texts("record", content.get("record", []), place)),
        _text("title", content.get("title", ""), place),
        _preset(content.get("preset"), place),
    )


def _block(name: str, tables: Any, place: str) -> Grid:
    if not isinstance(tables, dict):
        raise UsageError(f"Block {name!r} of {place} is no table.", f"Write [block.{name}.fixed] on a line of its own.")
    return grid_of(tables, f"block {name!r} of {place}")


def _parts(content: Any, common: Grid, blocks: Mapping[str, Grid], place: str) -> list[Grid]:
    if not isinstance(content, list) or not content or not all(isinstance(part, dict) for part in content):
        scale = place.partition("]]")[0].removeprefix("[[")
        raise UsageError(f"{place} is no list of parts.", f"Write [[{scale}]] on a line of its own for each.")
    return [_part(dict(part), common, blocks, place) for part in content]


def _part(tables: dict[str, Any], common: Grid, blocks: Mapping[str, Grid], place: str) -> Grid:
    """What is common, under the blocks that a part names, under its own tables."""
    grid = common
    for name in _texts("blocks", tables.pop("blocks", []), place):
        if name not in blocks:
            raise unknown_name(f"block in {place}", name, blocks)
        grid = grid.overlaid(blocks[name])
    return grid.overlaid(grid_of(tables, place))


def _protocol(name: str, options: Any, place: str) -> tuple[dict[str, Any], str | None]:
    """The run options of a protocol, and the number its report shows."""
    if not isinstance(options, dict):
        raise UsageError(f"Protocol {name!r} of {place} is no table.", f"Write [protocol.{name}] on a line of its own.")
    values = dict(options)
    shown = values.pop("value", None)
    for key in values:
        if key not in FIELDS:
            raise unknown_name(f"option in protocol {name!r} of {place}", key, [*FIELDS, "value"])
    shown = shown if shown is None else _text("value", shown, place)
    return {key: parse_value(key, value) for key, value in values.items()}, shown


def _preset(name: Any, place: str) -> str | None:
    if name is not None:
        check_name(f"preset of {place}", _text("preset", name, place), PRESETS)
    return name


def _report(options: Mapping[str, Any], place: str) -> dict[str, Any]:
    for key in options:
        if key not in REPORT:
            raise unknown_name(f"option in [report] of {place}", key, REPORT)
    read = {True: _texts, False: _text}
    return {key: read[REPORT[key]](key, value, place) for key, value in options.items()}


def _table(content: Mapping[str, Any], name: str, place: str) -> Mapping[str, Any]:
    table = content.get(name, {})
    if not isinstance(table, dict):
        raise UsageError(f"{name!r} in {place} is no table.", f"Write [{name}] on a line of its own.")
    return table


def _texts(name: str, value: Any, place: str) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(_text(name, item, place) for item in values)


def _text(name: str, value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{name!r} in {place} must be a text, got {value!r}.")
    return value
