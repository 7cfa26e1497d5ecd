"""The npz files of heterophilous-graphs (Platonov et al. 2023), as they are published.

Members (N nodes, E edges, F features, K splits)::

    node_features                        (N, F) numbers
    node_labels                          (N,) integers from 0, each class with a node; -1 = unknown
    edges                                (E, 2) integers, every undirected edge once
    train_masks, val_masks, test_masks   (K, N) booleans

Splits are called by their number, "0", "1", … Where a word of the file's name is `directed`, an edge leads from its
first node to its second.

Reference: Platonov, Kuznedelev, Diskin, Babenko & Prokhorenkova, "A critical look at the evaluation of GNNs under
heterophily: are we really making progress?", ICLR 2023, and their repository yandex-research/heterophilous-graphs.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from lipgnn.datasets.formats.arrays import Arrays, integers, load_arrays, masks_of, member_names, numbers
from lipgnn.datasets.source import Source, Split, damaged

_MASKS = ("train_masks", "val_masks", "test_masks")
# Names that no other layout has: a file with one of them, if not all, is meant to be of this one.
_OWN = {"node_features", "node_labels", *_MASKS}
_MEMBERS = {"edges", *_OWN}


def read_heterophilous(path: Path) -> Source:
    """Read a data set from the layout described above.

    Raises
    ------
    DataError : the file is damaged, holds objects, or does not follow the layout.
    """
    arrays = load_arrays(path)
    try:
        if unknown := sorted(set(arrays) - _MEMBERS):
            raise ValueError(f"unknown members {unknown}")
        return Source(
            name=path.stem,
            edges=_edges(arrays),
            directed="directed" in re.split("[_-]", path.stem),
            features=numbers(arrays, "node_features"),
            labels=_labels(arrays),
            splits=_splits(arrays),
            origin=str(path),
        )
    except (ValueError, IndexError) as error:
        raise damaged(path, str(error)) from error


class Heterophilous:
    """Such files as a `lipgnn.datasets.formats.Format`."""

    description = "an npz file of heterophilous-graphs"
    read = staticmethod(read_heterophilous)

    def recognizes(self, path: Path) -> bool:
        return not _OWN.isdisjoint(member_names(path))


def _edges(arrays: Arrays) -> np.ndarray:
    edges = integers(arrays, "edges")
    if edges.ndim != 2 or edges.shape[1] != 2:
        transposed = ", which would be the transposed" if edges.ndim == 2 and edges.shape[0] == 2 else ""
        raise ValueError(f"edges have shape {edges.shape}{transposed}, not (edges, 2)")
    return np.ascontiguousarray(edges.T)


def _labels(arrays: Arrays) -> np.ndarray:
    labels = integers(arrays, "node_labels")
    present = np.unique(labels[labels >= 0])
    if labels.ndim == 1 and len(present) and len(present) <= present[-1]:
        missing = int(np.flatnonzero(present != np.arange(len(present)))[0])
        raise ValueError(f"label {present[-1]} is out of range: no node has label {missing}")
    return labels


def _splits(arrays: Arrays) -> dict[str, Split]:
    masks = [masks_of(arrays, name) for name in _MASKS]
    if len({mask.shape for mask in masks}) != 1:
        raise ValueError(f"masks have different shapes {[mask.shape for mask in masks]}")
    if not len(masks[0]):
        raise ValueError("it has masks of no split")
    return {str(k): Split(*rows) for k, rows in enumerate(zip(*masks, strict=True))}
