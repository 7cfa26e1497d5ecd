"""`lipgnn bench train`: whole epochs, by kernel and depth."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import click

from cli.bench.options import Numbers, comparison_options, graph_choices, list_option, measured, names_epilog
from cli.bench.output import Output
from cli.progress import StatusLine
from lipgnn.bench.measurements import TRAIN
from lipgnn.catalog import STACKS

EPILOG = (
    names_epilog(TRAIN)
    + """\b
Examples:
  lipgnn bench train
  lipgnn bench train --layers 10,30 --norm none,lip --what fused,dgl
  lipgnn bench train --layers 25 --width 8 --what "fused,fused recorded"
  lipgnn bench train --nodes 170000 --layers 10 --width 16 --what fused,dgl --peak
  lipgnn bench train --stack reversible --layers 10,100 --width 8
  lipgnn bench train --width 8 --what fused --breakdown
"""
)


@click.command("train", epilog=EPILOG)
@list_option("--layers", "layers", Numbers(), "30", "Measure networks with this many layers.")
@click.option(
    "--stack",
    type=click.Choice(list(STACKS)),
    default="plain",
    show_default=True,
    help="Stack the blocks in this way, as `lipgnn train` does.",
)
@click.option(
    "--breakdown", is_flag=True, help="List the operations that take most of an epoch, in place of comparing."
)
@comparison_options(TRAIN, what="fused,dgl,gemm", norm="lip", repeats=5)
def train(
    layers: tuple[int, ...],
    stack: str,
    breakdown: bool,
    heads: tuple[int, ...],
    widths: tuple[int, ...],
    norms: tuple[str, ...],
    whats: tuple[str, ...],
    model: str,
    csv: Path | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Time whole epochs of deep networks, training step and evaluation.

    All ways take turns in one process. Memory is what the first epoch adds to a fresh process at its highest point,
    with data and network there already. The data set is Cora unless another, or --nodes or --edges of a generated
    graph, is given; features and labels of a generated graph are random. Three or more depths or widths, say, show the
    power with which the cost grows. A breakdown has the time of every operation itself, without others that it
    calls, as torch's profiler sees it, which slows small operations down.
    """
    output = Output(csv, as_json)
    choices = graph_choices(**options, default="cora")

    from lipgnn.bench.breakdown import breakdown_of
    from lipgnn.bench.train import TrainComparison, spec_for

    for choice in choices:
        dataset = None
        for depth, each_heads, width in itertools.product(layers, heads, widths):
            shape = {"layers": depth, "heads": each_heads, "hidden": width}
            spec = spec_for(choice, model=model, stack=stack, norm=norms[0], **shape)
            dataset = dataset or choice.training_data(spec)
            comparison = TrainComparison(choice, dataset, spec, norms)
            if breakdown:
                with StatusLine() as tell:
                    output.add(breakdown_of(comparison, whats, options["threads"], tell))
            else:
                output.add(measured(comparison, whats, **options), TRAIN)
    return output.finish()
