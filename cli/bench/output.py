"""What a bench shows: tables while it measures, and all rows as CSV or JSON when it is done."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from cli import console
from lipgnn.errors import UsageError
from lipgnn.files import ensure_writable, write_atomic

if TYPE_CHECKING:
    from lipgnn.bench.rows import Report, Row
    from lipgnn.bench.spread import Spread

Command = Callable[..., Any]

STDOUT = Path("-")
# Options that say where the rows go, and not what is measured.
_WHERE = ("csv", "as_json")


def output_options(command: Command) -> Command:
    """`--csv FILE` and `--json`; see `Output`."""
    command = click.option("--json", "as_json", is_flag=True, help="Print the rows as a JSON list on stdout.")(command)
    return click.option(
        "--csv", type=click.Path(path_type=Path), metavar="FILE", help="Also write the rows as CSV; - is stdout."
    )(command)


class Output:
    """Collects the rows of a bench.

    Parameters
    ----------
    csv, as_json : where they go; a table is shown unless they go to stdout.

    Raises
    ------
    UsageError : both on stdout, or a file that cannot be written; told before anything is measured.
    """

    def __init__(self, csv: Path | None, as_json: bool):
        if as_json and csv == STDOUT:
            raise UsageError("Only one of --json and --csv - can have stdout.", "Give --csv a file.")
        if csv is not None and csv != STDOUT:
            ensure_writable(csv.absolute().parent, "Choose another file with --csv.")
        self.csv = csv
        self.as_json = as_json
        self.rows: list[Row] = []

    @property
    def for_people(self) -> bool:
        """Whether stdout is for tables."""
        return not self.as_json and self.csv != STDOUT

    def add(
        self, report: Report, title: str, legend: Mapping[str, str], *, columns: Iterable[str] = ("what", "norm")
    ) -> None:
        """Take the rows of one comparison, and show them where stdout is for people.

        Parameters
        ----------
        legend : what the names of the rows mean.
        columns : fields that tell the rows apart.
        """
        for line in report.left_out:
            console.note(line)
        self.rows += report.rows
        if self.for_people:
            _show(report.rows, title, list(columns), legend)

    def finish(self) -> int:
        """Write the rows where they are wanted; returns the exit code."""
        from lipgnn.bench.rows import records, to_csv

        rows = records(self.rows, given_command(click.get_current_context()))
        if self.as_json:
            console.print_json(rows)
        if self.csv == STDOUT:
            click.echo(to_csv(rows), nl=False)
        elif self.csv is not None:
            write_atomic(self.csv, to_csv(rows).encode())
            console.note(f"{len(rows)} rows in {self.csv}.")
        return 0


def given_command(context: click.Context) -> str:
    """The command line that measures the same again: the options that were given."""
    words = context.command_path.split()
    for parameter in context.command.params:
        name = parameter.name
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE and name not in (*_WHERE, "debug"):
            value = context.params[name]
            flag = parameter.opts[0] if value is not False else (parameter.secondary_opts or parameter.opts)[0]
            words.append(flag)
            if not isinstance(value, bool):
                words.append(",".join(map(str, value)) if isinstance(value, tuple) else str(value))
    return shlex.join(words)


def setting(row: Row, varied: str | None = None) -> str:
    """A title: what all rows of a comparison share, but for the field that is varied."""
    values = {"heads": f"{row.heads} heads", "width": f"width {row.width}", "layers": f"{row.layers} layers"}
    shape = ", ".join(text for name, text in values.items() if name != varied and (name, row.layers) != ("layers", 1))
    growing = {"size": "of doubling size", "edges": f"({row.nodes} nodes, doubling edges)"}
    size = growing.get(row.against, f"({row.nodes} nodes, {row.edges} edges)")
    return (
        f"{row.measures} of {row.model}, {shape}, on {row.graph} {size}; "
        f"medians of {row.repeats}, {row.threads} thread(s)"
    )


def extent(spread: Spread | Row) -> str | None:
    """Least and largest, in a form for tables."""
    if spread.low is None:
        return None
    return "–".join(f"{value:.0f}" if value >= 1000 else f"{value:.3g}" for value in (spread.low, spread.high))


def _show(rows: list[Row], title: str, columns: list[str], legend: Mapping[str, str]) -> None:
    """A table of what was timed, and one of what was made of the times."""
    plain = [row for row in rows if row.ratio is None and row.exponent is None]
    has_peaks = any(row.peak_mb is not None for row in plain)
    heads = [*columns, "ms", "least–most", *(["peak MB"] if has_peaks else [])]
    cells = [
        [*(getattr(row, key) for key in columns), _whole(row.ms), extent(row), _whole(row.peak_mb)][: len(heads)]
        for row in plain
    ]
    names = dict.fromkeys(row.what for row in plain if row.what in legend)
    console.print_table(heads, cells, title=title, below=[f"{name}: {legend[name]}" for name in names])
    ratios = [(row.what, row.norm, row.ratio, extent(row)) for row in rows if row.ratio is not None]
    if ratios:
        console.print_table(("ratio, round by round", "norm", "median", "least–most"), ratios)
    fits = [(row.what, row.against, row.exponent, row.stderr) for row in rows if row.exponent is not None]
    if fits:
        console.print_table(("cost = c · size^exponent", "size", "exponent", "standard error"), fits)


def _whole(value: float | None) -> float | None:
    """Large figures without a fraction, which no measurement has and a table would turn into powers of ten."""
    return round(value) if value is not None and value >= 1000 else value
