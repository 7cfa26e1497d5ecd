"""Choosing a split: one that comes with the data, one of Geom-GCN's, or a random one.

Names: a split of the source, e.g. `public`, or its number where the source has several; `geom-gcn:K`, also from split
files in the data directory; `random:SEED` (20 training and 30 validation nodes a class, the rest for the test, as in
Shchur et al. 2018) and `random:SEED:TRAIN:VAL` with other numbers a class; `all`, in which every part is all nodes with
a label, for the study of optimization: its scores say nothing about nodes that were not trained on.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from lipgnn.catalog import ALL, split_direction, split_name
from lipgnn.datasets.formats.geom_gcn import read_split
from lipgnn.datasets.locate import data_directory
from lipgnn.datasets.source import UNKNOWN, Source, Split, damaged
from lipgnn.errors import UsageError

RANDOM_TRAIN, RANDOM_VAL = 20, 30
UNLABELLED = "There is nothing to learn from or to score: use `lipgnn predict RUN --dataset …` to label it."

RANDOM = re.compile(r"random:(\d{1,9})(?::(\d{1,9}):(\d{1,9}))?", re.ASCII)
_GEOM_GCN = re.compile(r"geom-gcn:(\d{1,3})", re.ASCII)


def choose(source: Source, split: str, *, data_dir: Path | None = None) -> Split:
    """The split called `split`.

    Raises
    ------
    UsageError : no such split, or a class too small for a random one.
    DataError : a split file that is damaged or belongs to other data, or no node has a label.
    """
    if not source.labelled.any():
        raise damaged(source.origin or source.name, "no node has a label", UNLABELLED)
    split = split if split in source.splits else split_name(source.name, split)
    if split in source.splits:
        return source.splits[split]
    if split == ALL:
        return Split(source.labelled, source.labelled, source.labelled)
    if match := RANDOM.fullmatch(split):
        if source.several_labels:
            raise UsageError(
                f"A random split takes nodes of every class, and nodes of {source.name!r} have several labels.",
                f"Available: {', '.join(source.splits)}.",
            )
        seed, train, val = match.groups()
        return random_split(source.labels, int(seed), int(train or RANDOM_TRAIN), int(val or RANDOM_VAL))
    if match := _GEOM_GCN.fullmatch(split):
        for folder in _split_folders(Path(data_dir) if data_dir else data_directory()):
            path = folder / f"{split_direction(source.name)[0]}_split_0.6_0.2_{match[1]}.npz"
            if path.is_file():
                return _labelled(read_split(path, source.num_nodes), source)
    available = ", ".join([*source.splits, ALL, "random:SEED", "random:SEED:TRAIN:VAL"])
    raise UsageError(f"Data set {source.name!r} has no split {split!r}.", f"Available: {available}.")


def only_as_it_is(name: str, *, split: str, missing: float, features: str) -> None:
    """Refuse the options of data whose split and features are given once for all.

    Raises
    ------
    UsageError : another split than `public`, features that are missing, or any but the raw ones.
    """
    for option, value, only in (("split", split, "public"), ("missing", missing, 0.0), ("features", features, "raw")):
        if value != only:
            raise UsageError(f"Data set {name!r} has no other {option} than {only!r}, got {value!r}.")


def random_split(labels: np.ndarray, seed: int, train: int, val: int) -> Split:
    """`train` and `val` nodes of every class, the other labelled nodes for the test.

    Raises
    ------
    UsageError : a class has no more than `train` + `val` nodes, or nothing is to be trained on.
    """
    if train < 1:
        raise UsageError("A random split needs at least one training node a class.")
    # RandomState's stream is frozen by numpy's compatibility policy, so a seed means the same split for ever.
    draw = np.random.RandomState(seed)
    parts: dict[str, list[np.ndarray]] = {"train": [], "val": [], "test": []}
    for label in np.unique(labels[labels != UNKNOWN]):
        nodes = draw.permutation(np.flatnonzero(labels == label))
        if len(nodes) <= train + val:
            raise UsageError(
                f"Class {label} has {len(nodes)} nodes, too few for {train} to train and {val} to validate.",
                f"Name smaller numbers: random:{seed}:TRAIN:VAL with TRAIN + VAL < {len(nodes)}.",
            )
        parts["train"].append(nodes[:train])
        parts["val"].append(nodes[train : train + val])
        parts["test"].append(nodes[train + val :])
    return Split.of_indices(len(labels), *(np.concatenate(parts[name]) for name in parts))


def _labelled(split: Split, source: Source) -> Split:
    """The split without unlabelled nodes: Geom-GCN's files count CiteSeer's 15 as if they had a class."""
    return Split(*(mask & source.labelled for mask in split.parts.values()))


def _split_folders(data_dir: Path) -> tuple[Path, ...]:
    return data_dir / "geom-gcn" / "splits", data_dir / "splits"
