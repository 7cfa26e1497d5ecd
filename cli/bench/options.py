"""Options that several benches share, each written once."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lipgnn.catalog import DATASETS, check_name, models_with
from lipgnn.errors import UsageError

if TYPE_CHECKING:
    from lipgnn.bench.compare import Effort
    from lipgnn.bench.graphs import GraphChoice

Command = Callable[..., Any]

PROGRAM = (sys.executable, "-c", "from cli.main import main; main()")
# The size of ogbn-arxiv with both directions of every citation and self-loops.
NODES, EDGES = 170_000, 2_500_000


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


def repeats_option(default: int, least: int = 1) -> Callable[[Command], Command]:
    """`--repeats N`."""
    further = "" if least else " 0 measures memory alone."
    return click.option(
        "--repeats",
        type=click.IntRange(min=least),
        default=default,
        show_default=True,
        help=f"Measurements of each.{further}",
    )


def graph_options(command: Command) -> Command:
    """`--dataset`, `--undirected`, `--nodes` and `--edges`; see `graph_choice`."""
    for option in reversed(
        [
            click.option("--dataset", metavar="NAME|PATH", help="Measure on the graph of a data set."),
            click.option("--undirected", is_flag=True, help="Take every edge of the data set in both directions."),
            size_option("--nodes", "Nodes of a generated power-law graph."),
            size_option("--edges", "Its edges: both directions, and one self-loop a node."),
        ]
    ):
        command = option(command)
    return command


def size_option(flag: str, text: str, default: int | None = None) -> Callable[[Command], Command]:
    """An option for a number of nodes or edges."""
    return click.option(flag, type=click.IntRange(min=1), default=default, show_default=default is not None, help=text)


def model_option(command: Command) -> Command:
    """`--model gat|gt`."""
    return click.option(
        "--model", type=click.Choice(models_with("attention")), default="gat", show_default=True, help="Kind of layer."
    )(command)


def list_option(flag: str, name: str, kind: click.ParamType, default: str, text: str) -> Callable[[Command], Command]:
    """An option that takes a list, given to the command as a tuple called `name`."""
    return click.option(flag, name, type=kind, default=default, show_default=True, help=text)


def names_epilog(names: Mapping[str, str]) -> str:
    """The part of a help page that says what the names of rows mean."""
    lines = (f"  {name:<12}{text}" for name, text in names.items())
    return "\b\nWhat is measured:\n" + "\n".join(lines) + "\n\n"


def effort_options(repeats: int) -> Callable[[Command], Command]:
    """`--repeats`, `--threads` and `--no-peak`; see `effort_of`."""

    def add(command: Command) -> Command:
        command = click.option(
            "--peak/--no-peak", default=True, help="Measure memory too, each in a fresh process.  [default: peak]"
        )(command)
        return repeats_option(repeats, least=0)(threads_option(command))

    return add


def threads_option(command: Command) -> Command:
    """`--threads N`."""
    return click.option(
        "--threads",
        type=click.IntRange(min=1),
        default=os.cpu_count() or 1,
        help="Threads of every candidate.  [default: all cores]",
    )(command)


def graph_choice(
    *, dataset: str | None, undirected: bool, nodes: int | None, edges: int | None, default: str | None = None
) -> GraphChoice:
    """The graph that the options ask for; a size that is not given follows the other at a fixed mean degree.

    Parameters
    ----------
    default : the data set where neither one nor a size is given.

    Raises
    ------
    UsageError : options that contradict each other.
    """
    from lipgnn.bench.graphs import GraphChoice

    sized = nodes is not None or edges is not None
    if dataset is not None and sized:
        raise UsageError("A data set has its own nodes and edges.", "Give --dataset, or --nodes and --edges.")
    if not sized:
        dataset = dataset or default
    if undirected and dataset is None:
        raise UsageError("--undirected is for data sets; a generated graph has both directions already.")
    if dataset is not None:
        # As for a run: a name is a name, and a path is one from here, wherever a process looks from.
        known = dataset in DATASETS or not Path(dataset).exists()
        return GraphChoice(dataset if known else str(Path(dataset).resolve()), undirected)
    if nodes is None:
        nodes = NODES if edges is None else max(1, round(edges * NODES / EDGES))
    return GraphChoice(nodes=nodes, edges=round(nodes * EDGES / NODES) if edges is None else edges)


def effort_of(*, repeats: int, threads: int, peak: bool) -> Effort:
    """How much to measure.

    Raises
    ------
    UsageError : nothing at all.
    """
    from lipgnn.bench.compare import Effort

    if not repeats and not peak:
        raise UsageError(
            "Neither time nor memory is to be measured.", "Use --repeats 1 or more, or leave out --no-peak."
        )
    return Effort(repeats, threads, peak)
