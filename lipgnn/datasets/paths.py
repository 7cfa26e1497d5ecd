"""Trajectories by name or path: generated, in the data directory, or a folder of the user's own."""

from __future__ import annotations

import os
from pathlib import Path

from lipgnn.catalog import dataset_entry, is_path_folder, split_direction
from lipgnn.datasets.formats import recognize
from lipgnn.datasets.formats.five_files import FiveFiles, read_five_files
from lipgnn.datasets.generated.roads import KINDS, load_roads
from lipgnn.datasets.locate import locate
from lipgnn.datasets.source import damaged
from lipgnn.datasets.splits import only_as_it_is
from lipgnn.datasets.trajectories import PathDataset
from lipgnn.errors import LipgnnError, UsageError


def load_paths(
    name: str,
    *,
    split: str = "public",
    missing: float = 0.0,
    features: str = "raw",
    data_dir: Path | None = None,
) -> PathDataset:
    """Find and read, or make, trajectories; options are those of `lipgnn.datasets.load`, of which they have one each.

    Raises
    ------
    DataError : data that is missing or damaged.
    UsageError : an unknown name, or options that trajectories do not have.
    """
    only_as_it_is(name, split=split, missing=missing, features=features)
    return read_paths(name, data_dir=data_dir)


def read_paths(name_or_path: str | os.PathLike[str], *, data_dir: Path | None = None) -> PathDataset:
    """The trajectories of a name or path; errors as in `load_paths`."""
    name = os.fspath(name_or_path)
    if split_direction(name)[1] is not None:
        raise UsageError(f"Data set {name!r}: trajectories follow the direction of the edges.", "Leave the suffix out.")
    if name.partition(":")[0] in KINDS:
        return load_roads(name)
    path = locate(name_or_path, data_dir=data_dir)
    if not isinstance(recognize(path), FiveFiles):
        raise damaged(path, "it is no folder of trajectories", f"Give {FiveFiles.description}.")
    try:
        return read_five_files(path, name=name)
    except MemoryError as error:
        raise damaged(path, "there is not enough memory to read it") from error


def has_trajectories(name_or_path: str | os.PathLike[str], *, data_dir: Path | None = None) -> bool:
    """Whether a name or path is that of trajectories, judged by names alone, those in the data directory among them."""
    if (entry := dataset_entry(os.fspath(name_or_path))) is not None:
        return entry.task == PathDataset.task
    try:
        return is_path_folder(locate(name_or_path, data_dir=data_dir))
    except LipgnnError:
        return False
