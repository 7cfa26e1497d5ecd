"""What a bench shows: tables while it measures, and all rows as CSV or JSON when it is done."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from cli import console
from cli.outputs import OutputFile
from lipgnn.files import ensure_writable, write_atomic
from lipgnn.words import counted

if TYPE_CHECKING:
    from lipgnn.bench.measurements import Measurement, Report

Command = Callable[..., Any]

# Options that say where the rows go, and not what is measured.
_WHERE = ("csv", "as_json")


def output_options(command: Command) -> Command:
    """`--csv FILE` and `--json`; see `Output`."""
    command = click.option("--json", "as_json", is_flag=True, help="Print the rows as a JSON list on stdout.")(command)
    help_text = "Write the rows as CSV into this file as well."
    return click.option("--csv", type=OutputFile(), metavar="FILE", help=help_text)(command)


class Output:
    """Collects the measurements of a bench.

    Parameters
    ----------
    csv, as_json : where they go as rows; tables are shown unless JSON has stdout.

    Raises
    ------
    UsageError : a file that cannot be written; told before anything is measured.
    """

    def __init__(self, csv: Path | None, as_json: bool):
        if csv is not None:
            ensure_writable(csv.absolute().parent, "Choose another file with --csv.")
        self.csv = csv
        self.as_json = as_json
        self.measurements: list[Measurement] = []

    def add(self, report: Report, legend: Mapping[str, str] | None = None) -> None:
        """Take the measurements of one comparison, and show them.

        Parameters
        ----------
        legend : what the names mean.
        """
        for line in report.left_out:
            console.note(line)
        self.measurements += report.measurements
        if not self.as_json:
            _show(report.measurements, legend or {})

    def finish(self) -> int:
        """Add how the cost grows, and write the rows where they are wanted; returns the exit code."""
        from lipgnn.bench.growth import growth
        from lipgnn.bench.measurements import to_csv, to_rows

        fits = list(growth(self.measurements))
        if fits and not self.as_json:
            cells = [(fit.what, fit.norm, fit.against, fit.exponent, fit.stderr) for fit in fits]
            console.print_table(("cost = c · size^exponent", "norm", "size", "exponent", "standard error"), cells)
        rows = to_rows([*self.measurements, *fits], given_command(click.get_current_context()))
        if self.as_json:
            console.print_json(rows)
        if self.csv is not None:
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
            words.append(parameter.opts[0])
            if not parameter.is_flag:
                words.append(",".join(map(str, value)) if isinstance(value, tuple) else str(value))
    return shlex.join(words)


def title(first: Measurement) -> str:
    """What all measurements of a comparison share, taken from the first."""
    words = [f"{first.measures} of {first.model}" if first.model else first.measures]
    if first.graph:
        depth = f"{first.layers} layers, " if first.layers > 1 else ""
        words[0] += f", {depth}{first.heads} heads, width {first.width}"
        words[0] += f", on {first.graph} ({first.nodes} nodes, {first.edges} edges)"
    words += [f"medians of {first.repeats}"] if first.repeats > 1 else []
    words += [counted(first.threads, "thread")] if first.threads else []
    return "; ".join(words)


def _show(measurements: list[Measurement], legend: Mapping[str, str]) -> None:
    """A table of what was timed, and one of the ratios."""
    plain = [each for each in measurements if " / " not in each.what]
    columns = {
        "what": [each.what for each in plain],
        "norm": [each.norm for each in plain],
        "ms": [_whole(each.ms) for each in plain],
        "least–most": [_extent(each) for each in plain],
        "share": [each.ratio and f"{100 * each.ratio:.1f} %" for each in plain],
        "peak MB": [_whole(each.peak_mb) for each in plain],
    }
    columns = {name: cells for name, cells in columns.items() if any(cell is not None for cell in cells)}
    names = dict.fromkeys(each.what for each in plain if each.what in legend)
    below = [f"{name}: {legend[name]}" for name in names]
    console.print_table(list(columns), list(zip(*columns.values(), strict=True)), title=title(plain[0]), below=below)
    ratios = [(each.what, each.norm, each.ratio, _extent(each)) for each in measurements if each not in plain]
    if ratios:
        console.print_table(("ratio, round by round", "norm", "median", "least–most"), ratios)


def _extent(each: Measurement) -> str | None:
    """Least and largest, in a form for tables."""
    if each.low is None:
        return None
    return "–".join(f"{value:.0f}" if value >= 1000 else f"{value:.3g}" for value in (each.low, each.high))


def _whole(value: float | None) -> float | None:
    """Large figures without a fraction, which no measurement has and a table would turn into powers of ten."""
    return round(value) if value is not None and value >= 1000 else value
