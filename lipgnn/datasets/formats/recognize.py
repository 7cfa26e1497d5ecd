"""Which format a file or folder is in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lipgnn.datasets.formats import geom_gcn, npz, ogb, planetoid, tables
from lipgnn.datasets.source import Source, damaged

Reader = Callable[[Path], Source]

READABLE = (
    "an npz file, a folder with nodes.csv and edges.csv, or a folder of Planetoid (ind.NAME.*), "
    "Geom-GCN (out1_*.txt) or OGB (raw/*.csv.gz)"
)


def recognize(path: Path) -> Reader | None:
    """The function that reads `path`, judged by names alone, or None."""
    if path.is_file():
        if path.suffix == ".npz":
            return npz.read_npz
        return tables.read_folder if path.name.endswith((".csv", ".csv.gz")) else None
    if path.is_dir():
        if tables.find(path, tables.NODES):
            return tables.read_folder
        if (path / geom_gcn.EDGES_FILE).is_file():
            return geom_gcn.read_geom_gcn
        if (path / ogb.EDGES_FILE).is_file():
            return ogb.read_ogb
        return planetoid.read_planetoid if planetoid.find_prefixes(path) else None
    return planetoid.read_planetoid if path.name in planetoid.find_prefixes(path.parent) else None


def detect(path: Path) -> Reader:
    """The function that reads `path`.

    Raises
    ------
    DataError : the path does not exist or is in no readable format.
    """
    reader = recognize(path)
    if reader is None:
        exists = "it is in no readable format" if path.exists() else "no such file or folder"
        raise damaged(path, exists, f"Readable: {READABLE}.")
    return reader
