"""Data sets: read what their authors give, prepare what a model trains on.

`read` gives a `Source` in any of the formats (one module each), `load` a prepared `Dataset`. Importing this
package does not import torch.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from lipgnn.catalog import DATASETS, MEMORY, split_direction
from lipgnn.datasets.dataset import Dataset, prepare
from lipgnn.datasets.formats import detect
from lipgnn.datasets.formats.npz import write_npz
from lipgnn.datasets.generated import FAMILIES, GENERATED
from lipgnn.datasets.images import has_images
from lipgnn.datasets.locate import MANY_GRAPHS, data_directory, locate
from lipgnn.datasets.paths import has_trajectories
from lipgnn.datasets.prepare import fingerprint, prepare_edges
from lipgnn.datasets.source import Source, Split, damaged
from lipgnn.datasets.splits import choose
from lipgnn.datasets.standard import form_of
from lipgnn.datasets.statistics import describe
from lipgnn.errors import DataError, UsageError

__all__ = [
    "Dataset",
    "Source",
    "Split",
    "count_edges",
    "data_directory",
    "describe",
    "form_of_data",
    "identify",
    "load",
    "prepare",
    "read",
    "write_npz",
]


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
    features : the form of the features, one of `lipgnn.catalog.FEATURE_FORMS`.
    data_dir : where to look for data that does not ship, in place of `data_directory()`.

    Raises
    ------
    DataError : data that is missing or damaged.
    UsageError : an unknown name or split, or an option out of range.
    """
    source = read(name_or_path, data_dir=data_dir)
    return prepare(source, choose(source, split, data_dir=data_dir), features=features, missing=missing)


def identify(name_or_path: str | os.PathLike[str], *, split: str = "public", data_dir: Path | None = None) -> str:
    """The fingerprint that `load` gives, whatever the feature options; errors as there."""
    source = read(name_or_path, data_dir=data_dir)
    return fingerprint(source, prepare_edges(source), choose(source, split, data_dir=data_dir))


def form_of_data(name_or_path: str | os.PathLike[str], *, data_dir: Path | None = None) -> str:
    """The form that suits the features of a data set (see `lipgnn.datasets.standard.form_of`); errors as in `load`."""
    return form_of(read(name_or_path, data_dir=data_dir).features)


def count_edges(name_or_path: str | os.PathLike[str], *, data_dir: Path | None = None) -> int:
    """How many edges the prepared graph has, self-loops included; errors as in `load`."""
    return prepare_edges(read(name_or_path, data_dir=data_dir)).shape[1]


def read(name_or_path: str | os.PathLike[str], *, data_dir: Path | None = None) -> Source:
    """Find and read a data set as its authors give it; parameters and errors as in `load`.

    Behind a name or path, `:undirected` takes every edge in both directions, and `:directed` only as it is listed.
    """
    plain, directed = split_direction(os.fspath(name_or_path))
    if directed is not None:
        source = read(plain, data_dir=data_dir)
        suffix = os.fspath(name_or_path).removeprefix(plain)
        return dataclasses.replace(source, name=source.name + suffix, directed=directed)
    if str(name_or_path).startswith(MEMORY):
        name = str(name_or_path).removeprefix(MEMORY)
        raise DataError(
            f"Data set {name_or_path!r} was given from Python and is in no file.",
            f"Give it again from Python, or save it there with lipgnn.save(data, {f'{name}.npz'!r}) and use that file.",
        )
    if name_or_path in GENERATED:
        return GENERATED[name_or_path]()
    family, colon, _ = str(name_or_path).partition(":")
    if colon and family in FAMILIES:
        return FAMILIES[family](str(name_or_path))
    if family in DATASETS and DATASETS[family].origin == MANY_GRAPHS:
        raise UsageError(f"Data set {name_or_path!r} is many graphs and no single one.", "Train on it: it has no page.")
    if has_trajectories(name_or_path, data_dir=data_dir):
        raise UsageError(f"Data set {str(name_or_path)!r} is trajectories on a graph, whose nodes have no classes.")
    if has_images(name_or_path, data_dir=data_dir):
        raise UsageError(f"Data set {str(name_or_path)!r} is images, which have no graph of their own.")
    path = locate(name_or_path, data_dir=data_dir)
    try:
        source = detect(path).read(path)
    except MemoryError as error:
        raise damaged(path, "there is not enough memory to read it") from error
    if path != Path(name_or_path) and source.name != name_or_path:
        source = dataclasses.replace(source, name=name_or_path)
    return source
