"""`lipgnn datasets list`, `show` and `path`: what there is, what it looks like and where it lies."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import click

from cli import console
from cli.options import debug_option, json_option
from lipgnn.catalog import DATASETS, FetchedEntry, cautions, dataset_entry
from lipgnn.errors import DataError

# Of a graph with more types of edges the others are only counted.
_MOST_TYPES = 8


@click.command("list")
@json_option
@debug_option
def list_(as_json: bool) -> int:
    """List the data sets that ship, and those in the data directory."""
    rows, unreadable = [], []
    for name, place, description in available():
        try:
            facts = facts_of(name)
        except DataError as error:
            unreadable.append(error.message)
            continue
        rows.append(
            {
                "name": name,
                "where": place,
                **{key: facts[key] for key in ("nodes", "edges", "features")},
                "classes": len(facts["classes"]) if "classes" in facts else None,
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
    for name, entry in DATASETS.items():
        if entry.origin == "many graphs":
            console.note(f"Many graphs, made when they are trained on: {name} ({entry.description}).")
        if entry.parameters:
            console.note(f"Generated when it is asked for: {name}:{entry.parameters}.")
    here = {name for name, _, _ in available()}
    absent = [name for name in DATASETS if DATASETS[name].origin == "data directory" and name not in here]
    if absent:
        console.note(f"Known, but not in the data directory: {', '.join(absent)}.")
    fetchable = [name for name in absent if isinstance(DATASETS[name], FetchedEntry)]
    console.print_next("lipgnn datasets show cora", *(f"lipgnn datasets fetch {name}" for name in fetchable[:1]))
    return 0


@click.command("show")
@click.argument("name", metavar="NAME|PATH")
@json_option
@debug_option
def show(name: str, as_json: bool) -> int:
    """Describe a data set in numbers."""
    facts = facts_of(name)
    if as_json:
        console.print_json(facts)
        return 0
    views = {"paths": _show_paths, "images": _show_images}
    views.get(facts.get("task"), _show_nodes)(name, facts)
    return 0


def facts_of(name: str) -> dict[str, Any]:
    """The statistics of a data set, whether its nodes have classes, or it has trajectories or images."""
    from lipgnn.datasets import describe, read
    from lipgnn.datasets.images import form_of, has_images, read_pictures
    from lipgnn.datasets.paths import has_trajectories, read_paths
    from lipgnn.datasets.statistics import describe_images, describe_paths

    if has_images(name):
        return describe_images(read_pictures(form_of(name)[0]))
    return describe_paths(read_paths(name)) if has_trajectories(name) else describe(read(name))


def _show_nodes(name: str, facts: dict[str, Any]) -> None:
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
        *([("edge types", _type_text(facts["edge_types"]))] if "edge_types" in facts else []),
        ("features", _feature_text(facts)),
        ("homophily", console.cell(facts["homophily"])),
        ("components", f"{facts['components']:,}, the largest with {facts['largest_component']:,} nodes"),
        ("degree", f"{degree['min']} to {degree['max']}, median {degree['median']:g}, mean {degree['mean']:.2f}"),
    ]
    rows += _split_rows(facts["splits"])
    console.print_panel(facts["name"], rows)
    columns = ("class", "name", "nodes")
    console.print_table(columns, ([row[column] for column in columns] for row in facts["classes"]))
    for caution in cautions([name]):
        console.note(f"Note: {caution}")
    entry = dataset_entry(name)
    usual = entry.defaults.get("split", "public") if entry else "public"
    known = usual in facts["splits"] or usual.startswith("random:")
    split = [] if known else ["--split", next(iter(facts["splits"]), "random:0")]
    features = [] if facts["features"] else ["--features", "svd"]
    console.print_next(shlex.join(["lipgnn", "train", "--dataset", name, *split, *features]))


def _show_paths(name: str, facts: dict[str, Any]) -> None:
    seen, legs, degree = facts["observations"], facts["legs"], facts["out_degree"]
    places = "with coordinates" if facts["coordinates"] else "without coordinates"
    rows = [
        ("nodes", f"{facts['nodes']:,} {places}"),
        ("edges", f"{facts['edges']:,} directed; a self-loop is added at each dead end"),
        ("dead ends", f"{facts['dead_ends']:,}"),
        ("out-degree", f"{degree['min']} to {degree['max']}, median {degree['median']:g}, mean {degree['mean']:.2f}"),
        ("features", f"of a node {facts['features']}, of an edge {facts['edge_features']}"),
        ("trajectories", f"{facts['trajectories']:,}"),
        (
            "observations",
            f"{seen['total']:,}, of a trajectory {seen['min']} to {seen['max']}, mean {seen['mean']:.2f}; "
            f"each has up to {seen['nodes_each']} nodes",
        ),
        ("legs", f"{legs['total']:,}, of {legs['min']} to {legs['max']} edges, mean {legs['mean']:.2f}"),
        *_split_rows(facts["splits"]),
        ("in no part", f"{facts['left_out']:,}"),
    ]
    console.print_panel(facts["name"], rows)
    for caution in cautions([name]):
        console.note(f"Note: {caution}")
    console.print_next(shlex.join(["lipgnn", "train", "--dataset", name]))


def _show_images(name: str, facts: dict[str, Any]) -> None:
    rows = [
        ("images", f"{facts['images']:,} of {facts['side']} × {facts['side']} pixels, in shades of grey"),
        ("published test", f"{facts['published_test']:,}" if facts["published_test"] else "none"),
        *_split_rows(facts["splits"]),
    ]
    console.print_panel(facts["name"], rows)
    console.print_table(("class", "images"), (row.values() for row in facts["classes"]))
    console.print_next(shlex.join(["lipgnn", "train", "--dataset", name]))


@click.command("path")
@click.argument("name", metavar="[NAME]", required=False)
@debug_option
def path(name: str | None) -> int:
    """Print the data directory, or the file or folder of a data set."""
    from lipgnn.datasets import data_directory
    from lipgnn.datasets.locate import locate

    click.echo(str(locate(name) if name else data_directory()))
    return 0


def available() -> Iterator[tuple[str, str, str]]:
    """Name, place and description of every data set that can be read now."""
    from lipgnn.datasets.locate import cached

    for name, entry in DATASETS.items():
        if entry.origin in ("ships", "generated"):
            yield name, entry.origin, entry.description
    for name, place in cached():
        yield name, str(place), DATASETS[name].description if name in DATASETS else ""


def _type_text(counts: list[int]) -> str:
    shown = ", ".join(f"{count:,} of type {kind}" for kind, count in enumerate(counts[:_MOST_TYPES]))
    left = len(counts) - _MOST_TYPES
    rest = f", and {left:,} more" if left > 0 else ""
    return f"{len(counts):,}: {shown}{rest}; the added self-loops are of one of their own"


def _feature_text(facts: dict[str, Any]) -> str:
    if not facts["features"]:
        return "none; --features svd makes a substitute from the graph"
    return f"{facts['features']:,}, {facts['feature_density']:.2%} of the entries not zero"


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
