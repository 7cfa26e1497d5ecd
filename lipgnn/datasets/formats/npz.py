"""The tool's own format: one npz file of plain arrays, without pickles.

Members (N nodes, E listed edges, F features, K splits)::

    edges            (2, E) or (E, 2) integers: sources and targets; (2, 2) is read as (2, E)
    edge_types       (E,) integers from 0 on, optional
    features         (N, F) numbers, F = 0 if there are none, or in their place the parts of a CSR matrix:
      features_data, features_indices, features_indptr, features_shape
    labels           (N,) integers, -1 = unknown; or (N, T) floats, 0 and 1 for T tasks, NaN = unknown; optional:
                     without it all are unknown
    train_mask, val_mask, test_mask     (N,), or (K, N) for several splits, booleans
    split_names      (K,) strings; without it "public" if there is one split, else "0", "1", ...
    train_index, val_index, test_index  node ids, in place of the masks
    class_names      (C,) strings, optional
    node_ids         (N,) different strings, optional: what the nodes are called
    directed         one boolean, optional: false

All three masks (or indices) go together or are left out together. Any other member is an error.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from lipgnn.datasets.features import build_csr
from lipgnn.datasets.formats.arrays import Arrays, integers, load_arrays, masks_of, numbers, write_arrays
from lipgnn.datasets.source import UNKNOWN, Features, Source, Split, damaged

_PARTS = ("train", "val", "test")
_MASKS = tuple(f"{part}_mask" for part in _PARTS)
_INDICES = tuple(f"{part}_index" for part in _PARTS)
_CSR = ("features_data", "features_indices", "features_indptr", "features_shape")
_MEMBERS = {
    "edges",
    "edge_types",
    "features",
    "labels",
    "split_names",
    "class_names",
    "node_ids",
    "directed",
    *_CSR,
    *_MASKS,
    *_INDICES,
}


def read_npz(path: Path) -> Source:
    """Read a data set from the layout described above.

    Raises
    ------
    DataError : the file is missing, damaged, holds objects, or does not follow the layout.
    """
    arrays = load_arrays(path)
    try:
        if unknown := sorted(set(arrays) - _MEMBERS):
            raise ValueError(f"unknown members {unknown}")
        features = _features(arrays)
        return Source(
            name=path.stem,
            edges=_edges(arrays),
            directed=_directed(arrays),
            features=features,
            labels=_labels(arrays, features.shape[0]),
            splits=_splits(arrays, features.shape[0]),
            class_names=_strings(arrays, "class_names"),
            origin=str(path),
            edge_types=integers(arrays, "edge_types") if "edge_types" in arrays else None,
            node_ids=np.array(ids) if (ids := _strings(arrays, "node_ids")) else None,
        )
    except (ValueError, IndexError) as error:
        raise damaged(path, str(error)) from error


def write_npz(source: Source, path: Path, *, compress: bool = True) -> None:
    """Write `source` so that `read_npz` gives it back exactly; equal sources make equal bytes."""
    labels = source.labels if source.several_labels else _narrow(source.labels)
    arrays: Arrays = {"edges": _narrow(source.edges), "labels": labels}
    if source.edge_types is not None:
        arrays["edge_types"] = _narrow(source.edge_types)
    if sparse.issparse(source.features):
        matrix = source.features
        arrays["features_data"] = _narrow_floats(matrix.data)
        arrays["features_indices"] = _narrow(matrix.indices)
        arrays["features_indptr"] = _narrow(matrix.indptr)
        arrays["features_shape"] = np.array(matrix.shape, dtype=np.int64)
    else:
        arrays["features"] = _narrow_floats(source.features)
    if source.splits:
        for part, member in zip(_PARTS, _MASKS, strict=True):
            arrays[member] = np.stack([getattr(split, part) for split in source.splits.values()])
        arrays["split_names"] = np.array(list(source.splits))
    if source.class_names is not None:
        arrays["class_names"] = np.array(source.class_names)
    if source.node_ids is not None:
        arrays["node_ids"] = source.node_ids
    arrays["directed"] = np.array(source.directed)
    write_arrays(arrays, Path(path), compress=compress)


class Npz:
    """The layout above as a `lipgnn.datasets.formats.Format`."""

    description = "an npz file"
    read = staticmethod(read_npz)

    def recognizes(self, path: Path) -> bool:
        return path.is_file() and path.suffix == ".npz"


def _labels(arrays: Arrays, num_nodes: int) -> np.ndarray:
    if "labels" not in arrays:
        return np.full(num_nodes, UNKNOWN)
    labels = arrays["labels"]
    return (
        labels.astype(np.float32, copy=False)
        if labels.ndim == 2 and labels.dtype.kind == "f"
        else integers(arrays, "labels")
    )


def _strings(arrays: Arrays, name: str) -> tuple[str, ...] | None:
    if name not in arrays:
        return None
    array = arrays[name]
    if array.dtype.kind != "U" or array.ndim != 1 or len(set(array.tolist())) != len(array):
        raise ValueError(f"member {name!r} is not a list of different strings")
    return tuple(array.tolist())


def _directed(arrays: Arrays) -> bool:
    flag = arrays.get("directed", np.array(False))
    if flag.size != 1 or flag.dtype != bool:
        raise ValueError("member 'directed' is not one boolean")
    return bool(flag.item())


def _edges(arrays: Arrays) -> np.ndarray:
    edges = integers(arrays, "edges")
    if edges.ndim == 2 and edges.shape[0] != 2 and edges.shape[1] == 2:
        edges = np.ascontiguousarray(edges.T)
    return edges


def _features(arrays: Arrays) -> Features:
    if "features" in arrays and any(part in arrays for part in _CSR):
        raise ValueError("features are given twice, dense and sparse")
    if not any(part in arrays for part in _CSR):
        features = numbers(arrays, "features")
        if features.ndim != 2:
            raise ValueError(f"features have shape {features.shape}, not (nodes, features)")
        return features
    shape = integers(arrays, "features_shape")
    if shape.shape != (2,):
        raise ValueError("member 'features_shape' is not two integers")
    data, indices, indptr = numbers(arrays, _CSR[0]), integers(arrays, _CSR[1]), integers(arrays, _CSR[2])
    return build_csr(data, indices, indptr, tuple(shape.tolist()))


def _splits(arrays: Arrays, num_nodes: int) -> dict[str, Split]:
    given = [name for name in (*_MASKS, *_INDICES) if name in arrays]
    if not given:
        return {}
    if given == list(_INDICES):
        return {"public": Split.of_indices(num_nodes, *(integers(arrays, name) for name in _INDICES))}
    if given != list(_MASKS):
        raise ValueError(f"of masks and indices only {given} are given")
    masks = [masks_of(arrays, name) for name in _MASKS]
    if len({mask.shape for mask in masks}) != 1:
        raise ValueError(f"masks have different shapes {[mask.shape for mask in masks]}")
    count = len(masks[0])
    names = _strings(arrays, "split_names") or (("public",) if count == 1 else tuple(map(str, range(count))))
    if len(names) != count:
        raise ValueError(f"{count} splits have {len(names)} names")
    return {name: Split(*(mask[k] for mask in masks)) for k, name in enumerate(names)}


def _narrow(array: np.ndarray) -> np.ndarray:
    """The same integers in the smallest type that holds them."""
    if not array.size:
        return array
    return array.astype(np.promote_types(np.min_scalar_type(array.min()), np.min_scalar_type(array.max())))


def _narrow_floats(array: np.ndarray) -> np.ndarray:
    """Word counts and flags as bytes; anything a byte would change, even the sign of a zero, as it is."""
    with np.errstate(invalid="ignore"):
        small = array.astype(np.uint8)
    exact = np.array_equal(small.astype(np.float32).view(np.uint32), array.view(np.uint32))
    return small if exact else array
