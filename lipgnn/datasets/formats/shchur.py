"""The npz files of gnn-benchmark (Shchur et al. 2018): adjacency and features as parts of CSR matrices.

Members (N nodes, F features)::

    adj_data, adj_indices, adj_indptr, adj_shape      (N, N), an entry an edge; its weight is not looked at
    attr_data, attr_indices, attr_indptr, attr_shape  (N, F), or in their place a dense attr_matrix
    labels                                            (N,) integers, -1 = unknown

Edges count in both directions, as their authors have it; all components of the graph are kept. Splits are drawn.
What nodes, features and classes are called stands in members of Python objects, which are pickles: these members are
skipped by their names and never loaded.

Reference: Shchur, Mumme, Bojchevski & Günnemann, "Pitfalls of Graph Neural Network Evaluation", 2018, and their
repository shchur/gnn-benchmark.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lipgnn.datasets.features import build_csr
from lipgnn.datasets.formats.arrays import Arrays, integers, load_arrays, member_names, numbers, required
from lipgnn.datasets.source import Features, Source, damaged

_ADJACENCY = tuple(f"adj_{part}" for part in ("data", "indices", "indptr", "shape"))
_ATTRIBUTES = tuple(f"attr_{part}" for part in ("data", "indices", "indptr", "shape"))
_DENSE = "attr_matrix"
_MEMBERS = {*_ADJACENCY, *_ATTRIBUTES, _DENSE, "labels"}
_SKIPPED = (
    *("node_names", "attr_names", "class_names", "metadata"),
    *("idx_to_node", "idx_to_attr", "idx_to_class"),
)


def read_shchur(path: Path) -> Source:
    """Read a data set from the layout described above.

    Raises
    ------
    DataError : the file is damaged, holds objects under other names, or does not follow the layout.
    """
    arrays = load_arrays(path, skip=_SKIPPED)
    try:
        if unknown := sorted(set(arrays) - _MEMBERS):
            raise ValueError(f"unknown members {unknown}")
        features = _features(arrays)
        return Source(
            name=path.stem,
            edges=_edges(arrays, features.shape[0]),
            directed=False,
            features=features,
            labels=integers(arrays, "labels"),
            origin=str(path),
        )
    except (ValueError, IndexError) as error:
        raise damaged(path, str(error)) from error


class Shchur:
    """Such files as a `lipgnn.datasets.formats.Format`."""

    description = "an npz file of gnn-benchmark"
    read = staticmethod(read_shchur)

    def recognizes(self, path: Path) -> bool:
        return not member_names(path).isdisjoint(_ADJACENCY)


def _features(arrays: Arrays) -> Features:
    if _DENSE in arrays:
        if any(part in arrays for part in _ATTRIBUTES):
            raise ValueError("features are given twice, dense and sparse")
        features = numbers(arrays, _DENSE)
        if features.ndim != 2:
            raise ValueError(f"features have shape {features.shape}, not (nodes, features)")
        return features
    data, shape = numbers(arrays, _ATTRIBUTES[0]), _shape(arrays, _ATTRIBUTES[3])
    return build_csr(data, integers(arrays, _ATTRIBUTES[1]), integers(arrays, _ATTRIBUTES[2]), shape)


def _edges(arrays: Arrays, num_nodes: int) -> np.ndarray:
    weights, targets = required(arrays, _ADJACENCY[0]), integers(arrays, _ADJACENCY[1])
    starts, shape = integers(arrays, _ADJACENCY[2]), _shape(arrays, _ADJACENCY[3])
    if shape != (num_nodes, num_nodes):
        raise ValueError(f"the adjacency has shape {shape}, and there are features of {num_nodes} nodes")
    if targets.ndim != 1 or weights.shape != targets.shape or starts.shape != (num_nodes + 1,):
        raise ValueError("the parts of the adjacency are not lists that fit each other")
    if starts[0] != 0 or starts[-1] != len(targets) or (starts[1:] < starts[:-1]).any():
        raise ValueError("the rows of the adjacency do not follow each other")
    return np.stack([np.repeat(np.arange(num_nodes), np.diff(starts)), targets])


def _shape(arrays: Arrays, name: str) -> tuple[int, int]:
    shape = integers(arrays, name)
    if shape.shape != (2,):
        raise ValueError(f"member {name!r} is not two integers")
    return int(shape[0]), int(shape[1])
