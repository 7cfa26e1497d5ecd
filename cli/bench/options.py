"""Options that several benches share, each written once."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import click

from cli import console
from cli.bench.output import output_options
from cli.options import debug_option
from cli.progress import StatusLine
from lipgnn.catalog import check_name, models_with
from lipgnn.errors import UsageError

if TYPE_CHECKING:
    from lipgnn.bench.compare import Comparison
    from lipgnn.bench.graphs import GraphChoice
    from lipgnn.bench.measurements import Report

Command = Callable[..., Any]

# An eighth of ogbn-arxiv with both directions of every citation and self-loops.
NODES, EDGES = 21_250, 312_500


class Numbers(click.ParamType):
    """Whole numbers from one on, separated by commas."""

    name = "N,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        words = str(value).split(",") if not isinstance(value, tuple) else value
        if not all(str(word).strip().isdecimal() and int(word) > 0 for word in words):
            self.fail(f"{value!r} is no list of whole numbers such as 8,64.", param, ctx)
        return tuple(int(word) for word in words)


class Names(click.ParamType):
    """Names of one kind, separated by commas; without a list of valid ones they are checked elsewhere."""

    name = "NAME,…"

    def __init__(self, kind: str, valid: Collection[str] = ()):
        self.kind = kind
        self.valid = valid

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        # In order, each once: what is measured is told apart by its name.
        words = dict.fromkeys(word.strip() for word in value.split(",")) if isinstance(value, str) else value
        for word in words if self.valid else ():
            check_name(self.kind, word, self.valid)
        return tuple(words)


def list_option(
    flag: str, name: str, kind: click.ParamType, default: str | None, text: str
) -> Callable[[Command], Command]:
    """An option that takes a list, given to the command as a tuple called `name`."""
    return click.option(flag, name, type=kind, default=default, show_default=default is not None, help=text)


def repeats_option(default: int) -> Callable[[Command], Command]:
    """`--repeats N`."""
    return click.option(
        "--repeats",
        type=click.IntRange(min=1),
        metavar="N",
        default=default,
        show_default=True,
        help="Measure each this many times.",
    )


def comparison_options(
    names: Mapping[str, str], *, what: str, norm: str, repeats: int, norms: Collection[str] = ()
) -> Callable[[Command], Command]:
    """What a comparison is made of; see also `graph_choices`.

    Parameters
    ----------
    names : of what can be measured.
    what, norm, repeats : defaults.
    norms : the valid ones; none where they are checked elsewhere.
    """
    options = (
        click.option("--dataset", metavar="NAME|PATH", help="Measure on the graph of a data set."),
        list_option("--nodes", "nodes", Numbers(), None, "Generate power-law graphs with this many nodes."),
        list_option(
            "--edges",
            "edges",
            Numbers(),
            None,
            "Generate graphs with this many edges: both directions, and one self-loop per node.",
        ),
        list_option("--heads", "heads", Numbers(), "8", "Measure layers with this many heads."),
        list_option("--width", "widths", Numbers(), "8,64", "Measure heads of these widths."),
        list_option("--norm", "norms", Names("norm", norms), norm, "Measure with these norms."),
        list_option(
            "--what",
            "whats",
            Names("name of what is measured", names),
            what,
            "Measure these ways, which are listed below.",
        ),
        click.option(
            "--model",
            # What is measured is attention to the mapped neighbours and no more.
            type=click.Choice([name for name in models_with("attention") if name in models_with("value_map")]),
            default="gat",
            show_default=True,
            help="Measure this kind of layer.",
        ),
        repeats_option(repeats),
        click.option(
            "--threads",
            type=click.IntRange(min=1),
            metavar="N",
            default=os.cpu_count() or 1,
            help="Compute with this many threads.  [default: all cores]",
        ),
        click.option("--peak", is_flag=True, help="Measure memory in place of time, each way in a fresh process."),
        output_options,
        debug_option,
    )

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def names_epilog(names: Mapping[str, str]) -> str:
    """The part of a help page that says what the names of rows mean."""
    widest = max(map(len, names))
    lines = (f"  {name:<{widest}}  {text}" for name, text in names.items())
    return "\b\nWhat is measured:\n" + "\n".join(lines) + "\n\n"


def graph_choices(
    *,
    dataset: str | None,
    nodes: tuple[int, ...] | None,
    edges: tuple[int, ...] | None,
    default: str | None = None,
    **others: Any,
) -> list[GraphChoice]:
    """The graphs that the options ask for; a size that is not given follows the other at a fixed mean degree.

    Parameters
    ----------
    default : the data set where neither one nor a size is given.

    Raises
    ------
    UsageError : a data set and a size.
    """
    console.loading()

    from lipgnn.bench.graphs import GraphChoice

    if dataset is not None and (nodes or edges):
        raise UsageError("A data set has its own nodes and edges.", "Give --dataset, or --nodes and --edges.")
    if not (nodes or edges):
        dataset = dataset or default
        return [GraphChoice(dataset) if dataset else GraphChoice(nodes=NODES, edges=EDGES)]
    if not edges:
        sizes = [(count, round(count * EDGES / NODES)) for count in nodes]
    elif not nodes:
        sizes = [(max(1, round(count * NODES / EDGES)), count) for count in edges]
    else:
        sizes = itertools.product(nodes, edges)
    return [GraphChoice(nodes=each_nodes, edges=each_edges) for each_nodes, each_edges in sizes]


def measured(
    comparison: Comparison, whats: tuple[str, ...], *, repeats: int, threads: int, peak: bool, **others: Any
) -> Report:
    """Times or memory, as the options ask for, with a line on the terminal that says what is measured."""
    with StatusLine() as tell:
        if peak:
            return comparison.peaks(whats, threads, tell)
        return comparison.times(whats, repeats, threads, tell)
