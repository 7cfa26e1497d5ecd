"""`lipgnn datasets import`: data of one's own."""

from __future__ import annotations

from pathlib import Path

import click

from cli import console
from cli.options import debug_option


@click.command("import")
@click.argument("source", metavar="PATH", type=click.Path(path_type=Path))
@click.option(
    "--edges",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read the edges from this table or plain list (.txt), where PATH is a table of nodes.",
)
@click.option(
    "--columns",
    metavar="ROLE=COLUMN,…",
    help="Say what the columns of a table are, where their names do not: id, label and split of nodes; source, target "
    "and type of edges; ignore leaves a column out.",
)
@click.option("--name", metavar="NAME", help="Give the data set this name.  [default: its own]")
@click.option("--directed/--undirected", default=None, help="Take the edges as they are listed, or in both directions.")
@click.option("--force", is_flag=True, help="Replace a data set that has this name already.")
@debug_option
def import_(
    source: Path, edges: Path | None, columns: str | None, name: str | None, directed: bool | None, force: bool
) -> int:
    """Turn data in any readable format into one npz file in the data directory."""
    from lipgnn.datasets.fetching.importing import import_source

    target, remarks = import_source(source, edges=edges, columns=columns, name=name, directed=directed, force=force)
    for remark in remarks:
        console.note(remark)
    console.note(f"Imported as {target.stem!r}: {target}")
    console.print_next(f"lipgnn datasets show {target.stem}")
    return 0
