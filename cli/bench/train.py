"""`lipgnn bench train`: whole epochs, by kernel and depth."""

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
from lipgnn.bench.rows import TRAIN
from lipgnn.catalog import STACKS

EPILOG = (
    names_epilog(TRAIN)
    + """\b
Examples:
  lipgnn bench train
  lipgnn bench train --layers 10,30 --norm none,lip --what fused,dgl
  lipgnn bench train --layers 25 --width 8 --what "fused,fused recorded"
  lipgnn bench train --nodes 170000 --edges 2500000 --layers 10 --width 16 --repeats 0
  lipgnn bench train --stack reversible --layers 10,100 --width 8
"""
)


@click.command("train", epilog=EPILOG)
@graph_options
@list_option("--layers", "layers", Numbers(), "30", "Numbers of layers.")
@list_option("--heads", "heads", Numbers(), "8", "Numbers of heads.")
@list_option("--width", "widths", Numbers(), "8,64", "Widths of one head.")
@list_option("--norm", "norms", Names("norm"), "lip", "Norms, as in `lipgnn train`.")
@list_option("--what", "whats", Names("name of what is measured", TRAIN), "fused,dgl,gemm", "What to measure.")
@model_option
@click.option("--stack", type=click.Choice(list(STACKS)), default="plain", show_default=True, help="As in train.")
@click.option(
    "--recompute-every", type=click.IntRange(min=0), default=0, show_default=True, help="As in train, but never auto."
)
@click.option("--dropout", default="0.6", show_default=True, metavar="X", help="As in train.")
@effort_options(5)
@output_options
@debug_option
def train(
    layers: tuple[int, ...],
    heads: tuple[int, ...],
    widths: tuple[int, ...],
    norms: tuple[str, ...],
    whats: tuple[str, ...],
    repeats: int,
    threads: int,
    peak: bool,
    csv: Path | None,
    as_json: bool,
    recompute_every: int,
    **options: Any,
) -> int:
    """Time whole epochs of deep networks, training step and evaluation.

    All ways take turns in one process. Memory is what the first epoch adds to a fresh process at its highest point,
    with data and network there already. The data set is Cora unless another, or --nodes and --edges of a generated
    graph, is given; features and labels of a generated graph are random.
    """
    output = Output(csv, as_json)
    effort = effort_of(repeats=repeats, threads=threads, peak=peak)
    graph = {name: options.pop(name) for name in ("dataset", "undirected", "nodes", "edges")}
    choice = graph_choice(**graph, default="cora")

    from lipgnn.bench.train import bench_train, spec_for

    options |= {"recompute_every": str(recompute_every), "norm": norms[0]}
    specs = [
        spec_for(choice, layers=depth, heads=each_heads, hidden=width, **options)
        for depth, each_heads, width in itertools.product(layers, heads, widths)
    ]
    dataset = choice.training_data(specs[0])
    for spec in specs:
        with StatusLine() as tell:
            report = bench_train(choice, dataset, spec, whats=whats, norms=norms, effort=effort, tell=tell)
        output.add(report, setting(report.rows[0]), TRAIN)
    return output.finish()
