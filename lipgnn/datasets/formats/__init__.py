"""Formats that data sets can be read from: one module each, and one line each in FORMATS.

Importing this package does not import torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from lipgnn.datasets.formats.dgl_graphs import DglGraphs
from lipgnn.datasets.formats.five_files import FiveFiles
from lipgnn.datasets.formats.geom_gcn import GeomGcn
from lipgnn.datasets.formats.graph_files import GraphFiles
from lipgnn.datasets.formats.heterophilous import Heterophilous
from lipgnn.datasets.formats.idx import Idx
from lipgnn.datasets.formats.npz import Npz
from lipgnn.datasets.formats.ogb import Ogb
from lipgnn.datasets.formats.planetoid import Planetoid
from lipgnn.datasets.formats.shchur import Shchur
from lipgnn.datasets.formats.tables import Tables
from lipgnn.datasets.pictures import Pictures
from lipgnn.datasets.source import Source, damaged
from lipgnn.datasets.trajectories import PathDataset


class Format(Protocol):
    """What a format owes the rest.

    Attributes
    ----------
    description : what a user has to give, as in "an npz file"; error messages list the formats by it.
    """

    description: str

    def recognizes(self, path: Path) -> bool:
        """Whether `path` is in this format, judged by names alone: of files, and of what an npz file says it has."""

    def read(self, path: Path) -> Source | PathDataset | Pictures:
        """Read what is at `path`; its name is that of the file or folder.

        Raises
        ------
        DataError : a file is missing, damaged, or does not follow the format (see `lipgnn.datasets.source.damaged`).
        """


# In this order: the first that recognizes a path reads it.
FORMATS: dict[str, Format] = {
    "heterophilous": Heterophilous(),
    "shchur": Shchur(),
    "npz": Npz(),
    "csv": Tables(),
    "graph-file": GraphFiles(),
    "dgl": DglGraphs(),
    "geom-gcn": GeomGcn(),
    "ogb": Ogb(),
    "planetoid": Planetoid(),
    "paths": FiveFiles(),
    "idx": Idx(),
}


def recognize(path: Path) -> Format | None:
    """The format of `path`, judged by names alone, or None."""
    return next((format_ for format_ in FORMATS.values() if format_.recognizes(path)), None)


def detect(path: Path) -> Format:
    """The format of `path`.

    Raises
    ------
    DataError : the path does not exist or is in no readable format.
    """
    try:
        found = recognize(path)
    except (OSError, ValueError) as error:
        # A name that is too long, a link to itself, a folder that may not be looked into.
        raise damaged(path, getattr(error, "strerror", None) or str(error)) from error
    if found is None:
        exists = "it is in no readable format" if path.exists() else "no such file or folder"
        raise damaged(path, exists, f"Readable: {readable()}.")
    return found


def readable() -> str:
    """What can be read, in words."""
    *first, last = (format_.description for format_ in FORMATS.values())
    return f"{', '.join(first)} or {last}"
