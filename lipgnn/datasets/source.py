"""Data as its authors give it: edges as listed, features, labels and splits, checked once for all readers."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from lipgnn.errors import DataError

Features = sparse.csr_array | np.ndarray

UNKNOWN = -1
"""The label of a node whose class is not known."""

MAX_EMPTY_CLASSES = 1000
"""There may be so many classes, or as many as there are nodes; the last layer has weights for each."""

MAX_EMPTY_TYPES = 1000
"""There may be so many types of edges, or as many as there are edges; every layer has weights for each."""


@dataclass(frozen=True, eq=False)
class Split:
    """Three disjoint boolean masks over the nodes, or three times all of them.

    Attributes
    ----------
    train, val, test : boolean arrays of shape (N,).
    """

    train: np.ndarray
    val: np.ndarray
    test: np.ndarray

    @classmethod
    def of_indices(cls, num_nodes: int, train: np.ndarray, val: np.ndarray, test: np.ndarray) -> Split:
        """The split whose masks hold at the given node ids.

        Raises
        ------
        ValueError : an id outside 0..num_nodes-1, which numpy would wrap around or report without its part.
        """
        masks = []
        for part, index in (("train", train), ("val", val), ("test", test)):
            if index.size and (index.min() < 0 or index.max() >= num_nodes):
                raise ValueError(f"the {part} split names a node outside 0..{num_nodes - 1}")
            mask = np.zeros(num_nodes, dtype=bool)
            mask[index] = True
            masks.append(mask)
        return cls(*masks)

    @property
    def parts(self) -> dict[str, np.ndarray]:
        """The masks by name."""
        return {"train": self.train, "val": self.val, "test": self.test}


@dataclass(frozen=True, eq=False, repr=False)
class Source:
    """A data set as its authors give it, before anything is removed, added or normalized.

    Attributes
    ----------
    name : what the data set is called.
    edges : (2, E) int64; row 0 the sources, row 1 the targets, in the order of the file.
    directed : whether (u, v) leaves out (v, u); if not, an edge may be listed once or in both directions.
    features : (N, F) float32, dense or `scipy.sparse.csr_array`; F is 0 where the data comes without.
    labels : (N,) int64 class numbers, -1 where unknown; or (N, T) float32, the answers 0 and 1 to T tasks, NaN
        where unknown. All may be unknown: such data has no split, and is there to be predicted on.
    edge_types : (E,) int64, the types of the listed edges, from 0 on; None where they have none.
    splits : splits that come with the data, by name.
    class_names : a name per class or task, if known.
    origin : the file or folder it was read from, for error messages.
    remarks : what a reader should know of how it was read, a sentence each.
    node_ids : (N,) texts, what the nodes are called where the data comes from; None where these are 0, 1, 2, …

    Raises
    ------
    DataError : parts that do not fit together; the message names `origin` and the first reason.
    """

    name: str
    edges: np.ndarray
    directed: bool
    features: Features
    labels: np.ndarray
    splits: dict[str, Split] = field(default_factory=dict)
    class_names: tuple[str, ...] | None = None
    origin: str = ""
    edge_types: np.ndarray | None = None
    node_ids: np.ndarray | None = None
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checks = (_features_problem, _edges_problem, _types_problem, _labels_problem, _splits_problem, _ids_problem)
        for check in checks:
            if problem := check(self):
                raise damaged(self.origin or self.name, problem)

    def __repr__(self) -> str:
        counts = f"{self.num_nodes:,} nodes, {self.edges.shape[1]:,} listed edges, {self.num_features:,} features"
        classes = f"{self.num_classes} {'labels' if self.several_labels else 'classes'}"
        known = f"{classes}, splits {', '.join(self.splits) or 'none'}" if self.labelled.any() else "no labels"
        return f"<{self.name}: {counts}, {known}>"

    @property
    def num_nodes(self) -> int:
        return self.features.shape[0]

    @property
    def num_features(self) -> int:
        return self.features.shape[1]

    @property
    def num_classes(self) -> int:
        """The number of class names, or one more than the largest label; of tasks, where a node has several labels.

        It is 0 where no label is known, and no name either.
        """
        if self.several_labels:
            return self.labels.shape[1]
        if self.class_names is not None:
            return len(self.class_names)
        return int(self.labels.max()) + 1

    @property
    def num_edge_types(self) -> int:
        """One more than the largest type of a listed edge; 0 where edges have no types."""
        return 0 if self.edge_types is None else int(self.edge_types.max(initial=-1)) + 1

    @property
    def several_labels(self) -> bool:
        return self.labels.ndim == 2

    @property
    def labelled(self) -> np.ndarray:
        """(N,) booleans: whether anything is known of a node's label."""
        return ~np.isnan(self.labels).all(axis=1) if self.several_labels else self.labels != UNKNOWN


def damaged(origin: str | os.PathLike[str], reason: str, hint: str | None = None) -> DataError:
    """The error for a file or folder that cannot be used, in the one form all readers share."""
    return DataError(f"Cannot use {os.fspath(origin)!r}: {reason}.", hint)


def _features_problem(source: Source) -> str | None:
    features = source.features
    if not isinstance(features, sparse.csr_array | np.ndarray):
        return f"features are a {type(features).__name__}, not an array or a csr_array"
    if features.ndim != 2 or features.dtype != np.float32:
        return f"features are {features.dtype} of shape {features.shape}, not float32 of shape (nodes, features)"
    if features.shape[0] == 0:
        return f"features of shape {features.shape} leave nothing to learn from"
    values = features.data if sparse.issparse(features) else features
    if not np.isfinite(values).all():
        return "a feature is infinite or not a number"
    return None


def _edges_problem(source: Source) -> str | None:
    edges, last = source.edges, source.num_nodes - 1
    if edges.ndim != 2 or edges.shape[0] != 2 or edges.dtype != np.int64:
        return f"edges are {edges.dtype} of shape {edges.shape}, not int64 of shape (2, edges)"
    if edges.size and (edges.min() < 0 or edges.max() > last):
        return f"an edge names node {edges.min() if edges.min() < 0 else edges.max()}, outside 0..{last}"
    return None


def _types_problem(source: Source) -> str | None:
    types, count = source.edge_types, source.edges.shape[1]
    if types is None:
        return None
    if types.shape != (count,) or types.dtype != np.int64:
        return f"types of edges are {types.dtype} of shape {types.shape}, not int64 of shape ({count},), one for each"
    if types.min(initial=0) < 0:
        return f"an edge is of type {types.min()}, and types count from 0"
    if source.num_edge_types > max(count, MAX_EMPTY_TYPES):
        return f"type {types.max()} leaves most types without one of the {count} edges"
    return None


def _labels_problem(source: Source) -> str | None:
    labels = source.labels
    if source.several_labels:
        return _tasks_problem(source)
    if labels.shape != (source.num_nodes,) or labels.dtype != np.int64:
        return _labels_form(source)
    if labels.min() < UNKNOWN:
        return f"label {labels.min()} is negative (only {UNKNOWN}, unknown, may be)"
    if source.class_names is None and labels.max() >= max(source.num_nodes, MAX_EMPTY_CLASSES):
        return f"label {labels.max()} leaves most classes without one of the {source.num_nodes} nodes"
    if labels.max() >= source.num_classes:
        return f"label {labels.max()} has no name among the {source.num_classes} class names"
    return None


def _tasks_problem(source: Source) -> str | None:
    labels, names = source.labels, source.class_names
    if len(labels) != source.num_nodes or labels.shape[1] == 0 or labels.dtype != np.float32:
        return _labels_form(source)
    if not np.isin(labels[~np.isnan(labels)], (0, 1)).all():
        return "a label of several is neither 0 nor 1"
    if names is not None and len(names) != labels.shape[1]:
        return f"{labels.shape[1]} tasks have {len(names)} names"
    return None


def _labels_form(source: Source) -> str:
    labels, nodes = source.labels, source.num_nodes
    return (
        f"labels are {labels.dtype} of shape {labels.shape}, neither integers of shape ({nodes},), the class of every "
        f"node, nor floats of shape ({nodes}, tasks), its answers 0 and 1"
    )


def _splits_problem(source: Source) -> str | None:
    for name, split in source.splits.items():
        for part, mask in split.parts.items():
            if mask.shape != (source.num_nodes,) or mask.dtype != bool:
                return f"the {part} mask of split {name!r} is {mask.dtype} of shape {mask.shape}, not one bool a node"
            if not source.labelled[mask].all():
                return f"split {name!r} has a node without a label in its {part} mask"
        if not split.train.any():
            return f"split {name!r} has no training node"
        if (sum(mask.astype(np.int8) for mask in split.parts.values()) > 1).any():
            return f"split {name!r} has a node in two of its masks"
    return None


def _ids_problem(source: Source) -> str | None:
    ids = source.node_ids
    if ids is not None and (ids.shape != (source.num_nodes,) or ids.dtype.kind != "U"):
        return f"ids of nodes are {ids.dtype} of shape {ids.shape}, not one text for each of {source.num_nodes} nodes"
    return None
