"""`lipgnn bench overhead`: what the tool costs beside the epochs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from cli import console
from cli.bench.options import Numbers, list_option, repeats_option
from cli.bench.output import Output, output_options
from cli.options import debug_option
from cli.progress import StatusLine
from lipgnn.runtime import SAFE_PATH

PROGRAM = (
    sys.executable,
    "-c",
    f"{SAFE_PATH}from cli.main import run; from lipgnn.memory import peak_memory; "
    "code = run(sys.argv[1:]); sys.stderr.write(f'\\n{peak_memory()}'); sys.exit(code)",
)
EPILOG = """\b
Examples:
  lipgnn bench overhead
  lipgnn bench overhead --runs 1000,5000,20000 --csv overhead.csv
"""


@click.command("overhead", epilog=EPILOG)
@list_option("--runs", "runs", Numbers(), "1000,10000", "Use stores with this many runs.")
@repeats_option(3)
@output_options
@debug_option
def overhead(runs: tuple[int, ...], repeats: int, csv: Path | None, as_json: bool) -> int:
    """Time commands on stores of many runs, each in a fresh process.

    They are a tiny run, the plan of a sweep and a report; besides, a sweep of one tiny run and of many, which tells
    what a further run costs in a worker that is warm. All take turns. Memory is all that a process had.
    """
    output = Output(csv, as_json)
    console.loading()

    from lipgnn.bench.overhead import bench_overhead

    with StatusLine() as tell:
        output.add(bench_overhead(PROGRAM, runs, repeats, tell))
    return output.finish()
