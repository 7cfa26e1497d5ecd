"""`lipgnn bench attention`: one layer, in every way there is."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import click

from cli.bench.options import comparison_options, graph_choices, measured, names_epilog
from cli.bench.output import Output
from lipgnn.bench.measurements import ATTENTION
from lipgnn.catalog import MODELS, fused_norms, models_with
from lipgnn.errors import UsageError

EPILOG = (
    names_epilog(ATTENTION)
    + """\b
Examples:
  lipgnn bench attention
  lipgnn bench attention --nodes 170000 --norm lip --what fused,dgl,gather
  lipgnn bench attention --nodes 21250 --edges 312500,625000,1250000 --width 8 --norm lip --what fused
  lipgnn bench attention --dataset path/to/ogbn_arxiv:undirected --csv arxiv.csv
  lipgnn bench attention --model gt --edge-types 40 --what fused,dgl
"""
)


@click.command("attention", epilog=EPILOG)
@comparison_options(ATTENTION, what=",".join(ATTENTION), norms=fused_norms(), norm="none,lip", repeats=3)
@click.option(
    "--edge-types",
    type=click.IntRange(min=1),
    metavar="N",
    help="Give every edge one of so many types, drawn at random.",
)
def attention(
    heads: tuple[int, ...],
    widths: tuple[int, ...],
    norms: tuple[str, ...],
    whats: tuple[str, ...],
    model: str,
    edge_types: int | None,
    csv: Path | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Time one attention layer with its gradients, in every way there is.

    All ways take turns in one process, on the same inputs and weights. An edge part starts from projected features,
    a whole layer from its input: they are told apart and never compared. Memory is what one step adds to a fresh
    process at its highest point, with graph, inputs and weights there already. Without --dataset the graph is
    generated, with 21 250 nodes and 312 500 edges if nothing else is said; where only nodes or only edges are given,
    the others follow. Of nodes, edges, heads or widths three or more show the power with which the cost grows.
    """
    if edge_types and not MODELS[model].typed_edges:
        raise UsageError(
            f"Layers of {model!r} do not tell types of edges apart, and {edge_types} were asked for.",
            f"Use --model {' or '.join(models_with('typed_edges'))}.",
        )
    output = Output(csv, as_json)
    choices = graph_choices(**options)

    from lipgnn.bench.attention import AttentionComparison
    from lipgnn.bench.inputs import Shape

    for choice in choices:
        topology = choice.topology()
        for each_heads, width in itertools.product(heads, widths):
            comparison = AttentionComparison(choice, topology, Shape(model, each_heads, width, edge_types or 0), norms)
            output.add(measured(comparison, whats, **options), ATTENTION)
    return output.finish()
