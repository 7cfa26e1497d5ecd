"""Data sets: read what was published, prepare what a model trains on.

`read` gives a `Source` in any of the formats (one module each), `load` a prepared `Dataset`. Importing this
package does not import torch.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from lipgnn.datasets import planted
from lipgnn.datasets.dataset import Dataset, prepare
from lipgnn.datasets.formats import detect
from lipgnn.datasets.locate import data_directory, locate
from lipgnn.datasets.npz import write_npz
from lipgnn.datasets.source import Source, Split
from lipgnn.datasets.splits import choose
from lipgnn.datasets.statistics import describe

__all__ = ["Dataset", "Source", "Split", "data_directory", "describe", "load", "prepare", "read", "write_npz"]


def load(
    name_or_path: str | os.PathLike[str],
    *,
    split: str = "public",
    missing: float = 0.0,
    features: str = "raw",
    data_dir: Path | None = None,
) -> Dataset:
    """Find, read and prepare a data set.

    Parameters
    ----------
    name_or_path : a name of the catalog or the data directory, or a path in any readable format.
    split : which split; see `lipgnn.datasets.splits`.
    missing : share of the nodes outside the training mask whose features are erased.
    features : "raw", or "row" for rows that sum to one.
    data_dir : where to look for data that does not ship, in place of `data_directory()`.

    Raises
    ------
    DataError : data that is missing or damaged.
    UsageError : an unknown name or split, or an option out of range.
    """
    source = read(name_or_path, data_dir=data_dir)
    return prepare(source, choose(source, split, data_dir=data_dir), features=features, missing=missing)


def read(name_or_path: str | os.PathLike[str], *, data_dir: Path | None = None) -> Source:
    """Find and read a data set as published; parameters and errors as in `load`."""
    if name_or_path == planted.NAME:
        return planted.generate()
    path = locate(name_or_path, data_dir=data_dir)
    source = detect(path)(path)
    if path != Path(name_or_path) and source.name != name_or_path:
        source = dataclasses.replace(source, name=name_or_path)
    return source
