"""Any readable format into one npz file of the data directory."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from lipgnn.catalog import DATASETS
from lipgnn.datasets.formats import FORMATS, detect
from lipgnn.datasets.formats.npz import write_npz
from lipgnn.datasets.formats.roles import parse_columns
from lipgnn.datasets.formats.tables import read_tables
from lipgnn.datasets.learnable import unlearnable
from lipgnn.datasets.locate import data_directory, is_name
from lipgnn.datasets.source import Source
from lipgnn.errors import UsageError
from lipgnn.files import ensure_writable


def import_source(
    path: Path,
    *,
    edges: Path | None = None,
    columns: str | None = None,
    name: str | None = None,
    directed: bool | None = None,
    force: bool = False,
) -> tuple[Path, tuple[str, ...]]:
    """Read `path` in whatever format it is and write it as `<name>.npz` into the data directory.

    Parameters
    ----------
    edges : the table or list of edges, where `path` is a table of nodes.
    columns : which column of a table is what, as `id=paper,label=topic` (see `lipgnn.datasets.formats.roles`).
    name : to be known by from now on; by default the name of the source.
    directed : take the edges as listed (True) or in both directions (False), in place of the format's habit.
    force : replace an earlier import of that name.

    Returns
    -------
    the file written, and what a reader should know of how its source was read and of what cannot be learned from it, a
    sentence each.

    Raises
    ------
    UsageError : the name cannot be used, is taken, the directory cannot be written to, or it is no single graph.
    DataError : the source cannot be read.
    """
    source = _read(path, edges, columns)
    name = name if name is not None else re.sub(r"[^A-Za-z0-9_-]+", "-", source.name).strip("-_")
    if not is_name(name):
        raise UsageError(f"{name!r} cannot be a name.", "Use letters, digits, - and _, e.g. --name my-graph.")
    if name in DATASETS and DATASETS[name].origin != "data directory":
        raise UsageError(f"{name!r} is the name of a data set that comes with lipgnn.", "Choose another --name.")
    target = data_directory() / f"{name}.npz"
    if target.exists() and not force:
        raise UsageError(f"{str(target)!r} exists.", "Choose another --name, or replace it with --force.")
    ensure_writable(target.parent, remedy="Choose another folder with LIPGNN_DATA.")
    changes = {"name": name} if directed is None else {"name": name, "directed": directed}
    write_npz(dataclasses.replace(source, **changes), target)
    return target, (*source.remarks, *unlearnable(source))


def _read(path: Path, edges: Path | None, columns: str | None) -> Source:
    given = parse_columns(columns) if columns is not None else None
    if edges is not None:
        return read_tables(path, edges, name=path.name.split(".")[0], given=given)
    found = detect(path)
    if given is None:
        source = found.read(path)
        if not isinstance(source, Source):
            raise UsageError(
                f"{str(path)!r} is {found.description}, and only a graph of labelled nodes can be one npz file.",
                "Use the folder itself.",
            )
        return source
    if found not in (FORMATS["csv"], FORMATS["graph-file"]):
        raise UsageError(
            f"--columns says what the columns of tables are, and {str(path)!r} is {found.description}.",
            "Leave it out, or give tables.",
        )
    return found.read(path, given)
