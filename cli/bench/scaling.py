"""`lipgnn bench scaling`: how the cost grows."""

from __future__ import annotations

from pathlib import Path

import click

from cli.bench.options import Names, list_option, model_option, repeats_option, size_option, threads_option
from cli.bench.output import Output, output_options, setting
from cli.options import debug_option
from cli.progress import StatusLine
from lipgnn.bench.rows import ATTENTION, TRAIN
from lipgnn.catalog import fused_norms

AXES = ("edges", "size", "width", "heads", "depth")
# Doubled three times in size, the graph is as large as ogbn-arxiv with both directions and self-loops.
NODES, EDGES = 21_250, 312_500
KERNELS = ("fused", "dgl")
EPILOG = """\b
Examples:
  lipgnn bench scaling
  lipgnn bench scaling --against edges --points 5 --nodes 10000 --edges 150000
  lipgnn bench scaling --against depth --what dgl --csv depth.csv
"""


@click.command("scaling", epilog=EPILOG)
@list_option("--against", "axes", Names("axis", AXES), ",".join(AXES), "What is doubled.")
@click.option("--points", type=click.IntRange(min=2), default=4, show_default=True, help="Points of every grid.")
@size_option("--nodes", "Nodes of the smallest graph.", NODES)
@size_option("--edges", "Its edges: both directions, and one self-loop a node.", EDGES)
@size_option("--heads", "Heads, where they are not doubled.", 8)
@size_option("--width", "Width of one head, where it is not doubled.", 8)
@click.option("--norm", type=click.Choice(fused_norms()), default="lip", show_default=True, help="Score norm.")
@list_option("--what", "whats", Names("kernel", KERNELS), ",".join(KERNELS), "Kernels.")
@model_option
@repeats_option(5)
@threads_option
@output_options
@debug_option
def scaling(
    axes: tuple[str, ...],
    points: int,
    nodes: int,
    edges: int,
    heads: int,
    width: int,
    norm: str,
    whats: tuple[str, ...],
    model: str,
    repeats: int,
    threads: int,
    csv: Path | None,
    as_json: bool,
) -> int:
    """Fit the power with which the cost grows.

    Edges and size start at the graph given: against edges its nodes stay as they are, against size they grow too,
    at a fixed mean degree. Width starts at 8, heads at 2 and depth at 5. Against depth whole epochs are timed, against
    all else the edge part of one layer, forward and backward. All points take turns; the power is fitted to the
    medians by least squares in the logarithms.
    """
    output = Output(csv, as_json)

    from lipgnn.bench.compare import Effort
    from lipgnn.bench.graphs import GraphChoice
    from lipgnn.bench.inputs import Shape
    from lipgnn.bench.scaling import bench_scaling

    choice, shape, effort = GraphChoice(nodes=nodes, edges=edges), Shape(model, heads, width), Effort(repeats, threads)
    for against in axes:
        with StatusLine() as tell:
            report = bench_scaling(
                choice, shape, against=against, points=points, whats=whats, norm=norm, effort=effort, tell=tell
            )
        varied = {"depth": "layers", "size": "edges"}.get(against, against)
        legend = TRAIN if against == "depth" else ATTENTION
        output.add(report, setting(report.rows[0], varied=varied), legend, columns=(varied, "what", "norm"))
    return output.finish()
