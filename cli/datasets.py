"""`lipgnn datasets`: what there is, what it looks like, where it lies, whether it is whole."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from cli import console
from cli.options import debug_option, json_option
from lipgnn.catalog import DATASETS
from lipgnn.errors import DataError, LipgnnError, UsageError

EPILOG = """\b
Examples:
  lipgnn datasets list
  lipgnn datasets show cora
  lipgnn datasets import my-nodes.csv --name mine
  lipgnn train --dataset mine --split random:0
"""


@click.group("datasets", epilog=EPILOG)
def command() -> None:
    """List, describe, check and import data sets."""


@command.command("list")
@json_option
@debug_option
def list_(as_json: bool) -> int:
    """List the data sets that ship, and those in the data directory."""
    from lipgnn.datasets import describe, read

    rows, unreadable = [], []
    for name, place, description in _available():
        try:
            facts = describe(read(name))
        except DataError as error:
            unreadable.append(error.message)
            continue
        rows.append(
            {
                "name": name,
                "where": place,
                **{key: facts[key] for key in ("nodes", "edges", "features")},
                "classes": len(facts["classes"]),
                "splits": list(facts["splits"]),
                "description": description,
            }
        )
    for message in unreadable:
        console.note(f"Left out: {message}")
    if as_json:
        console.print_json(rows)
        return 0
    columns = ("name", "where", "nodes", "edges", "features", "classes", "description")
    console.print_table(columns, ([row[column] for column in columns] for row in rows))
    absent = [name for name in DATASETS if name not in {name for name, _, _ in _available()}]
    if absent:
        console.note(f"Known, but not in the data directory: {', '.join(absent)}.")
    console.print_next("lipgnn datasets show cora")
    return 0


@command.command("show")
@click.argument("name", metavar="NAME|PATH")
@json_option
@debug_option
def show(name: str, as_json: bool) -> int:
    """Describe a data set in numbers."""
    from lipgnn.datasets import describe, read

    source = read(name)
    facts = describe(source)
    if as_json:
        console.print_json(facts)
        return 0
    kind = "directed" if facts["directed"] else "undirected"
    degree = facts["degree"]
    rows = [
        (
            "nodes",
            f"{facts['nodes']:,}, of which {facts['isolated']:,} isolated, {facts['unlabelled']:,} without label",
        ),
        (
            "edges",
            f"{facts['edges']:,} {kind} ({facts['edges_listed']:,} listed, {facts['duplicates']:,} repeated, "
            f"{facts['self_loops']:,} self-loops; one self-loop a node is added)",
        ),
        ("features", f"{facts['features']:,}, {facts['feature_density']:.2%} of the entries not zero"),
        ("homophily", console.cell(facts["homophily"])),
        ("components", f"{facts['components']:,}, the largest with {facts['largest_component']:,} nodes"),
        ("degree", f"{degree['min']} to {degree['max']}, median {degree['median']:g}, mean {degree['mean']:.2f}"),
    ]
    rows += _split_rows(facts["splits"])
    console.print_panel(facts["name"], rows)
    columns = ("class", "name", "nodes")
    console.print_table(columns, ([row[column] for column in columns] for row in facts["classes"]))
    split = [] if "public" in facts["splits"] else ["--split", next(iter(facts["splits"]), "random:0")]
    console.print_next(shlex.join(["lipgnn", "train", "--dataset", name, *split]))
    return 0


@command.command("path")
@click.argument("name", metavar="[NAME]", required=False)
@debug_option
def path(name: str | None) -> int:
    """Print the data directory, or the file or folder of a data set."""
    from lipgnn.datasets import data_directory
    from lipgnn.datasets.locate import locate

    click.echo(str(locate(name) if name else data_directory()))
    return 0


@command.command("verify")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@json_option
@debug_option
def verify(names: tuple[str, ...], as_json: bool) -> int:
    """Read data sets from end to end and compare those that ship with their known fingerprints."""
    rows = [_verdict(name) for name in names or [name for name, _, _ in _available()]]
    if as_json:
        console.print_json(rows)
    else:
        console.print_table(("name", "verdict", "detail"), (row.values() for row in rows))
    return DataError.exit_code if any(row["verdict"] == "damaged" for row in rows) else 0


@command.command("import")
@click.argument("source", metavar="PATH", type=click.Path(path_type=Path))
@click.option("--edges", type=click.Path(path_type=Path), help="Edges file, where PATH is a CSV file of nodes.")
@click.option("--name", help="Name to import it as; the default is its own.")
@click.option("--directed/--undirected", default=None, help="Take edges as listed, or in both directions.")
@click.option("--force", is_flag=True, help="Replace a data set of that name.")
@debug_option
def import_(source: Path, edges: Path | None, name: str | None, directed: bool | None, force: bool) -> int:
    """Turn any readable format into one npz file in the data directory."""
    from lipgnn.datasets.importing import import_source

    target = import_source(source, edges=edges, name=name, directed=directed, force=force)
    console.note(f"Imported as {target.stem!r}: {target}")
    console.print_next(f"lipgnn datasets show {target.stem}")
    return 0


def _available() -> Iterator[tuple[str, str, str]]:
    """Name, place and description of every data set that can be read now."""
    from lipgnn.datasets.locate import cached

    for name, entry in DATASETS.items():
        if entry.origin in ("ships", "generated"):
            yield name, entry.origin, entry.description
    for name, place in cached():
        yield name, str(place), DATASETS[name].description if name in DATASETS else ""


def _split_rows(splits: dict[str, dict[str, int]]) -> list[tuple[str, str]]:
    """A row for every size of split, with the first and last name of that size."""
    names: dict[str, list[str]] = {}
    for name, sizes in splits.items():
        text = ", ".join(f"{count:,} {part}" for part, count in sizes.items())
        names.setdefault(text, []).append(name)
    return [
        (f"split {group[0]}" if len(group) == 1 else f"splits {group[0]} … {group[-1]}", text)
        for text, group in names.items()
    ]


def _verdict(name: str) -> dict[str, Any]:
    from lipgnn.datasets import load, read

    try:
        source = read(name)
        if name not in DATASETS or DATASETS[name].fingerprint is None:
            return {"name": name, "verdict": "readable", "detail": f"{source.num_nodes:,} nodes"}
        fingerprint = load(name).fingerprint
    except UsageError:
        raise
    except LipgnnError as error:
        return {"name": name, "verdict": "damaged", "detail": error.message}
    if fingerprint != DATASETS[name].fingerprint:
        expected = DATASETS[name].fingerprint
        return {"name": name, "verdict": "damaged", "detail": f"fingerprint {fingerprint}, not {expected}"}
    return {"name": name, "verdict": "whole", "detail": f"fingerprint {fingerprint}"}
