"""`lipgnn bench start`: how soon the program answers."""

from __future__ import annotations

from pathlib import Path

import click

from cli.bench.options import PROGRAM, repeats_option
from cli.bench.output import Output, output_options
from cli.options import debug_option
from cli.progress import StatusLine

EPILOG = """\b
Examples:
  lipgnn bench start
  lipgnn bench start --repeats 9 --csv start.csv
"""


@click.command("start", epilog=EPILOG)
@repeats_option(5)
@output_options
@debug_option
def start(repeats: int, csv: Path | None, as_json: bool) -> int:
    """Time imports and help pages, each in a fresh process.

    Beside them are an empty Python, and torch and DGL, which are not imported before they are needed. All take turns.
    """
    output = Output(csv, as_json)

    from lipgnn.bench.start import bench_start

    with StatusLine() as tell:
        report = bench_start(PROGRAM, repeats, tell)
    output.add(report, f"Fresh processes; medians of {repeats}", {}, columns=("what",))
    return output.finish()
