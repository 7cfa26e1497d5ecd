"""`lipgnn bench attention`: one layer, in every way there is."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import click

from cli.bench.options import (
    Names,
    Numbers,
    effort_of,
    effort_options,
    graph_choice,
    graph_options,
    list_option,
    model_option,
    names_epilog,
)
from cli.bench.output import Output, output_options, setting
from cli.options import debug_option
from cli.progress import StatusLine
from lipgnn.bench.rows import ATTENTION
from lipgnn.catalog import fused_norms

EPILOG = (
    names_epilog(ATTENTION)
    + """\b
Examples:
  lipgnn bench attention
  lipgnn bench attention --nodes 17000 --edges 250000 --norm lip --what fused,dgl,gather
  lipgnn bench attention --dataset path/to/ogbn_arxiv --undirected --csv arxiv.csv
"""
)


@click.command("attention", epilog=EPILOG)
@graph_options
@list_option("--heads", "heads", Numbers(), "8", "Numbers of heads.")
@list_option("--width", "widths", Numbers(), "8,64", "Widths of one head.")
@list_option("--norm", "norms", Names("norm", fused_norms()), "none,lip", "Score norms.")
@list_option("--what", "whats", Names("name of what is measured", ATTENTION), ",".join(ATTENTION), "What to measure.")
@model_option
@click.option("--forward-only", is_flag=True, help="Outputs alone, without gradients.")
@effort_options(5)
@output_options
@debug_option
def attention(
    heads: tuple[int, ...],
    widths: tuple[int, ...],
    norms: tuple[str, ...],
    whats: tuple[str, ...],
    model: str,
    forward_only: bool,
    repeats: int,
    threads: int,
    peak: bool,
    csv: Path | None,
    as_json: bool,
    **graph: Any,
) -> int:
    """Time one attention layer in every way there is.

    All ways take turns in one process, on the same inputs and weights. An edge part starts from projected features,
    a whole layer from its input: they are told apart and never compared. Memory is what one step adds to a fresh
    process at its highest point, with graph, inputs and weights there already. Without --dataset the graph is
    generated, with 170 000 nodes and 2 500 000 edges if nothing else is said.
    """
    output = Output(csv, as_json)
    effort = effort_of(repeats=repeats, threads=threads, peak=peak)
    choice = graph_choice(**graph)
    topology = choice.topology()

    from lipgnn.bench.attention import bench_attention
    from lipgnn.bench.inputs import Shape

    for each_heads, width in itertools.product(heads, widths):
        shape = Shape(model, each_heads, width, backward=not forward_only)
        with StatusLine() as tell:
            report = bench_attention(choice, topology, shape, whats=whats, norms=norms, effort=effort, tell=tell)
        output.add(report, setting(report.rows[0]), ATTENTION)
    return output.finish()
