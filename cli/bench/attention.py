"""`lipgnn bench attention`: one layer, in every way there is."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import click

from cli.bench.options import comparison_options, graph_choices, measured, names_epilog
from cli.bench.output import Output
from lipgnn.bench.measurements import ATTENTION, BESIDE_SHARED
from lipgnn.catalog import MODELS, fused_norms
from lipgnn.errors import UsageError
from lipgnn.spec.head_sharing import NO_SHARING
from lipgnn.spec.network import NetworkSpec

EPILOG = (
    names_epilog(ATTENTION)
    + """\b
Examples:
  lipgnn bench attention
  lipgnn bench attention --nodes 170000 --norm lip --what fused,dgl,gather
  lipgnn bench attention --nodes 21250 --edges 312500,625000,1250000 --width 8 --norm lip --what fused
  lipgnn bench attention --model gt --head-sharing collab --shared-dim 128 --width 64 --what "layer fused,layer plain"
  lipgnn bench attention --dataset path/to/ogbn_arxiv:undirected --csv arxiv.csv
  lipgnn bench attention --model gt --edge-types 40 --what fused,dgl
"""
)


# What every layer has.
_ALL = [name for name in ATTENTION if name not in BESIDE_SHARED]


@click.command("attention", epilog=EPILOG)
@click.option(
    "--edge-types",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="Give every edge one of N types, drawn at random; 0 is none.",
)
@click.option(
    "--head-sharing",
    metavar="KIND",
    default=NO_SHARING,
    show_default=True,
    help="Measure layers of gt whose heads share queries and keys: none, collab, mqa or gqa:G.",
)
@click.option(
    "--shared-dim",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="Measure shared keys of this width; 0 is as wide as fits.",
)
@comparison_options(ATTENTION, what=",".join(_ALL), norms=fused_norms(), norm="none,lip", repeats=3)
def attention(
    heads: tuple[int, ...],
    widths: tuple[int, ...],
    norms: tuple[str, ...],
    whats: tuple[str, ...],
    model: str,
    edge_types: int,
    head_sharing: str,
    shared_dim: int,
    csv: Path | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Time one attention layer with its gradients, in every way there is.

    All ways take turns in one process, on the same inputs and weights. An edge part starts from projected features,
    a whole layer from its input: they are told apart and never compared. Memory is what one step adds to a fresh
    process at its highest point, with graph, inputs and weights there already. Without --dataset the graph is
    generated, with 21 250 nodes and 312 500 edges if nothing else is said; where only nodes or only edges are given,
    the others follow. Three or more numbers of nodes, edges, heads or widths show the power with which the cost grows.
    """
    _check_sharing(model, head_sharing, shared_dim, heads, widths)
    if edge_types and not (MODELS[model].typed_edges and head_sharing == NO_SHARING):
        raise UsageError(
            f"Layers of {model!r} with head sharing {head_sharing!r} do not tell types of edges apart, and there are "
            f"{edge_types}.",
            "Use --model gt and --head-sharing none, or --edge-types 0.",
        )
    output = Output(csv, as_json)
    choices = graph_choices(**options)

    from lipgnn.bench.attention import AttentionComparison
    from lipgnn.bench.inputs import Shape

    for choice in choices:
        topology = choice.topology()
        for each_heads, width in itertools.product(heads, widths):
            shape = Shape(model, each_heads, width, head_sharing, shared_dim, edge_types)
            comparison = AttentionComparison(choice, topology, shape, norms)
            output.add(measured(comparison, whats, **options), ATTENTION)
    return output.finish()


def _check_sharing(
    model: str, head_sharing: str, shared_dim: int, heads: tuple[int, ...], widths: tuple[int, ...]
) -> None:
    """Refuse sharing that a layer of one of these shapes cannot have, before anything is measured."""
    for each_heads, width in itertools.product(heads, widths):
        NetworkSpec(model=model, heads=each_heads, hidden=width, head_sharing=head_sharing, shared_dim=shared_dim)
