"""`lipgnn bench profile`: where the time of an epoch goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cli import console
from cli.bench.options import graph_choice, graph_options, model_option, threads_option
from cli.bench.output import Output, output_options, setting
from cli.options import debug_option
from cli.progress import StatusLine
from lipgnn.catalog import KERNELS

EPILOG = """\b
Examples:
  lipgnn bench profile
  lipgnn bench profile --kernel dgl
  lipgnn bench profile --dataset path/to/ogbn_arxiv --undirected --layers 10
"""


@click.command("profile", epilog=EPILOG)
@graph_options
@click.option("--layers", type=click.IntRange(min=1), default=30, show_default=True, help="Number of layers.")
@click.option("--heads", type=click.IntRange(min=1), default=8, show_default=True, help="Number of heads.")
@click.option("--width", type=click.IntRange(min=1), default=8, show_default=True, help="Width of one head.")
@click.option("--kernel", type=click.Choice(list(KERNELS)), default="auto", show_default=True, help="As in train.")
@click.option("--top", type=click.IntRange(min=1), default=12, show_default=True, help="Operations to list.")
@model_option
@threads_option
@output_options
@debug_option
def profile(
    layers: int,
    heads: int,
    width: int,
    kernel: str,
    top: int,
    model: str,
    threads: int,
    csv: Path | None,
    as_json: bool,
    **graph: Any,
) -> int:
    """List the operations that take most of an epoch, training step and evaluation.

    Times are those of an operation itself, without others that it calls, as torch's profiler sees them, which slows
    small operations down.
    """
    output = Output(csv, as_json)
    choice = graph_choice(**graph, default="cora")

    from lipgnn.bench.profile import bench_profile
    from lipgnn.bench.train import spec_for

    spec = spec_for(choice, layers=layers, heads=heads, hidden=width, kernel=kernel, model=model)
    data = choice.training_data(spec)
    with StatusLine() as tell:
        report = bench_profile(data, spec, top=top, threads=threads, tell=tell)
    output.rows += report.rows
    if output.for_people:
        total = sum(row.ms for row in report.rows)
        cells = [(row.what, round(row.ms, 1), f"{100 * row.ms / total:.1f} %") for row in report.rows]
        console.print_table(("operation", "ms", "share"), cells, title=setting(report.rows[0]))
    return output.finish()
