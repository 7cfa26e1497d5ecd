"""Arrays, tensors and lists of any library as the parts of a `lipgnn.datasets.Source`. No torch here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from lipgnn.datasets import Source, Split
from lipgnn.datasets.source import UNKNOWN, Features
from lipgnn.errors import DataError

PARTS = ("train", "val", "test")
Masks = Mapping[str, Any] | Sequence[Any] | None


def from_arrays(
    edges: Any,
    features: Any = None,
    labels: Any = None,
    *,
    masks: Masks = None,
    node_ids: Any = None,
    class_names: Sequence[str] | None = None,
    edge_types: Any = None,
    directed: bool | None = False,
    num_nodes: int | None = None,
    name: str = "arrays",
) -> Source:
    """A data set from arrays: NumPy, torch, lists, or for features also SciPy's sparse matrices.

    Parameters
    ----------
    edges : (2, E) or (E, 2) whole numbers: sources and targets.
    features : (N, F) numbers. Without them the data set has none, and `train` needs `features="svd"`.
    labels : (N,) whole numbers, -1 where unknown; or texts, which become names of classes, empty where unknown;
        or (N, T) numbers 0 and 1 for T yes-or-no labels, NaN where unknown. Without labels it can be predicted on.
    masks : who trains, validates and tests: a mapping or a sequence with `train`, `val` and `test`, each (N,) booleans,
        node numbers, or (N, K) booleans for K splits. Without them `train` needs `split="random:0"`.
    node_ids : (N,) what the nodes are called; predictions name them so.
    class_names : a name for each class, where labels are numbers.
    edge_types : (E,) whole numbers from 0 on.
    directed : False takes every edge in both directions, True as it is listed; None finds out whether each edge is
        listed in both.
    num_nodes : where there are no features to tell it.
    name : what to call the data set; runs have it as `memory:NAME`.

    Returns
    -------
    the data set, which `train`, `evaluate`, `diagnose` and `Model.predict` take.

    Raises
    ------
    DataError : parts that do not fit together, or that are not what is described above.

    Examples
    --------
    >>> import lipgnn
    >>> square = lipgnn.from_arrays([[0, 1, 2, 3], [1, 2, 3, 0]], [[1.0], [0.0], [1.0], [0.0]], ["a", "b", "a", "b"])
    >>> square
    <arrays: 4 nodes, 4 listed edges, 1 features, 2 classes, splits none>
    """
    check_name(name)
    ends = _edges(edges)
    matrix = _features(features, _count(ends, features, labels, num_nodes))
    numbers, named = _labels(labels, matrix.shape[0])
    if directed is None:
        directed = not _is_symmetric(ends, matrix.shape[0])
    return Source(
        name=name,
        edges=ends,
        directed=directed,
        features=matrix,
        labels=numbers,
        splits=_splits(masks, matrix.shape[0]),
        class_names=named if class_names is None else tuple(map(str, class_names)),
        edge_types=None if edge_types is None else _whole(edge_types, "edge_types"),
        node_ids=None if node_ids is None else np.array([str(one) for one in _plain(node_ids)]),
    )


def from_scipy(
    adjacency: Any, features: Any = None, labels: Any = None, *, name: str = "scipy", **further: Any
) -> Source:
    """A data set from a SciPy sparse matrix, whose entry (i, j) is an edge from node i to node j.

    Parameters
    ----------
    adjacency : (N, N); what is stored and not zero is an edge. A symmetric one is an undirected graph.
    features, labels, further : as in `from_arrays`.

    Raises
    ------
    DataError : it is not square, or its entries are weights: they are neither 0 nor 1, and lipgnn has no use for them.

    Examples
    --------
    >>> import lipgnn, numpy as np
    >>> from scipy import sparse
    >>> lipgnn.from_scipy(sparse.csr_array(np.ones((3, 3))), np.eye(3), [0, 1, 1])
    <scipy: 3 nodes, 9 listed edges, 3 features, 2 classes, splits none>
    """
    matrix = sparse.coo_array(adjacency)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"An adjacency matrix is square, and this one is of shape {matrix.shape}.")
    stored = matrix.data != 0
    if not np.isin(matrix.data[stored], (1,)).all():
        raise DataError(
            "The entries of the adjacency matrix are weights of edges, which lipgnn does not use.",
            "Give the edges alone: from_scipy(adjacency != 0, …).",
        )
    edges = np.stack([matrix.row[stored], matrix.col[stored]]).astype(np.int64)
    further = {"directed": None, "num_nodes": matrix.shape[0], **further}
    return from_arrays(edges, features, labels, name=name, **further)


def check_name(name: str) -> None:
    """Refuse a name that could not stand behind `memory:`.

    Raises
    ------
    DataError : says what a name may have in it.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", str(name), re.ASCII):
        raise DataError(f"{name!r} cannot be the name of a data set.", "Use letters, digits, ., - and _.")


def to_array(values: Any) -> np.ndarray:
    """What torch, NumPy or a list gives, as an array on the CPU."""
    detached = values.detach().cpu() if hasattr(values, "detach") else values
    return detached.to_dense().numpy() if hasattr(detached, "to_dense") else np.asarray(detached)


def _plain(values: Any) -> list[Any]:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _whole(values: Any, what: str) -> np.ndarray:
    array = to_array(values)
    if array.dtype.kind == "f" and array.size and not (np.isfinite(array) & (array == array.round())).all():
        raise DataError(f"{what} are {array.dtype} with fractions, not whole numbers.")
    if array.dtype.kind not in "iubf":
        raise DataError(f"{what} are {array.dtype}, not whole numbers.")
    return array.astype(np.int64)


def _edges(edges: Any) -> np.ndarray:
    pairs = tuple(map(to_array, edges)) if isinstance(edges, tuple) else to_array(edges)
    ends = _whole(np.stack(pairs) if isinstance(pairs, tuple) else pairs, "edges")
    if not ends.size:
        return np.empty((2, 0), dtype=np.int64)
    if ends.ndim == 2 and ends.shape[0] != 2 and ends.shape[1] == 2:
        ends = ends.T
    return np.ascontiguousarray(ends)


def _count(edges: np.ndarray, features: Any, labels: Any, num_nodes: int | None) -> int:
    """How many nodes there are: what is said, or as many as have features or labels, or as edges name."""
    if num_nodes is not None:
        return int(num_nodes)
    for rows in (features, labels):
        if rows is not None:
            return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)
    return int(edges.max(initial=-1)) + 1


def _features(features: Any, num_nodes: int) -> Features:
    if features is None:
        return np.empty((num_nodes, 0), dtype=np.float32)
    if sparse.issparse(features):
        return sparse.csr_array(features, dtype=np.float32)
    if getattr(features, "is_sparse", False):
        entries = features.detach().cpu().coalesce()
        row, column = entries.indices().numpy()
        return sparse.csr_array((entries.values().numpy().astype(np.float32), (row, column)), shape=entries.shape)
    array = to_array(features)
    if array.dtype.kind not in "iubf":
        raise DataError(f"Features are {array.dtype}, not numbers.")
    array = array.astype(np.float32)
    return array[:, None] if array.ndim == 1 else np.ascontiguousarray(array)


def _labels(labels: Any, num_nodes: int) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """Class numbers and, where labels are texts, the names of the classes."""
    if labels is None:
        return np.full(num_nodes, UNKNOWN), None
    array = to_array(labels)
    if array.dtype.kind in "UO" and array.ndim == 1:
        texts = ["" if one is None or one != one else str(one) for one in array.tolist()]
        names = sorted(set(texts) - {""})
        number = {text: place for place, text in enumerate(names)}
        return np.array([number.get(text, UNKNOWN) for text in texts], dtype=np.int64), tuple(names)
    if array.ndim == 2 and array.shape[1] > 1:
        return array.astype(np.float32), None
    return _whole(array.reshape(-1), "labels"), None


def _splits(masks: Masks, num_nodes: int) -> dict[str, Split]:
    if masks is None:
        return {}
    given = masks if isinstance(masks, Mapping) else dict(zip(PARTS, masks, strict=False))
    if set(given) != set(PARTS):
        raise DataError(
            f"Masks are of {', '.join(PARTS)}, and of {', '.join(map(str, given)) or 'nothing'} were given."
        )
    arrays = [_mask(given[part], part, num_nodes) for part in PARTS]
    if len({array.shape for array in arrays}) != 1:
        raise DataError(f"Masks have different shapes: {', '.join(str(array.shape) for array in arrays)}.")
    if arrays[0].ndim == 1:
        return {"public": Split(*arrays)}
    return {str(k): Split(*(array[:, k].copy() for array in arrays)) for k in range(arrays[0].shape[1])}


def _mask(values: Any, part: str, num_nodes: int) -> np.ndarray:
    """(N,) or (N, K) booleans, from the same or from node numbers."""
    array = to_array(values)
    if array.dtype == bool or (array.dtype == np.uint8 and array.shape[:1] == (num_nodes,)):
        return array.astype(bool)
    numbers = _whole(array, f"The {part} nodes")
    if numbers.ndim != 1 or (numbers.size and (numbers.min() < 0 or numbers.max() >= num_nodes)):
        raise DataError(f"The {part} mask is neither booleans nor node numbers from 0 to {num_nodes - 1}.")
    mask = np.zeros(num_nodes, dtype=bool)
    mask[numbers] = True
    return mask


def _is_symmetric(edges: np.ndarray, num_nodes: int) -> bool:
    """Whether every edge is listed in both directions."""
    sources, targets = edges
    return np.array_equal(np.unique(sources * num_nodes + targets), np.unique(targets * num_nodes + sources))
