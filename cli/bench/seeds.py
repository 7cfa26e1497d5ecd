"""`lipgnn bench seeds`: whether runs that differ in their seed alone should share one computation."""

from __future__ import annotations

import os
from pathlib import Path

import click

from cli.bench.options import graph_choice, repeats_option
from cli.bench.output import Output, output_options, setting
from cli.options import debug_option
from cli.progress import StatusLine

EPILOG = """\b
What is measured:
  separate    an epoch of one run with one thread, divided by the cores: one run a core, as in a sweep
  stacked     an epoch on as many copies of the graph as seeds with all cores, divided by the seeds

\b
Examples:
  lipgnn bench seeds
  lipgnn bench seeds --dataset citeseer --layers 10 --seeds 10
"""


@click.command("seeds", epilog=EPILOG)
@click.option("--dataset", default="cora", show_default=True, metavar="NAME|PATH", help="A small data set.")
@click.option("--layers", type=click.IntRange(min=1), default=30, show_default=True, help="Number of layers.")
@click.option("--seeds", type=click.IntRange(min=2), default=5, show_default=True, help="Runs computed as one.")
@repeats_option(5)
@output_options
@debug_option
def seeds(dataset: str, layers: int, seeds: int, repeats: int, csv: Path | None, as_json: bool) -> int:
    """Time an epoch of several seeds, each on its own and all as one stacked graph.

    The copies of the stack share their weights, which those of several seeds would not: what comes out is the most
    that stacking could gain.
    """
    output = Output(csv, as_json)
    choice = graph_choice(dataset=dataset, undirected=False, nodes=None, edges=None)

    from lipgnn.bench.seeds import bench_seeds
    from lipgnn.bench.train import spec_for

    spec = spec_for(choice, layers=layers)
    data = choice.training_data(spec)
    with StatusLine() as tell:
        report = bench_seeds(data, spec, seeds=seeds, cores=os.cpu_count() or 1, repeats=repeats, tell=tell)
    output.add(report, setting(report.rows[0]), {}, columns=("what",))
    return output.finish()
