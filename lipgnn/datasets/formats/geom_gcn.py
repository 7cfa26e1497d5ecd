"""Geom-GCN's folders (Pei et al. 2020): directed edges and node lines as text, ten splits as npz.

`out1_graph_edges.txt` has one `source<TAB>target` a line, `out1_node_feature_label.txt` (also gzipped) one
`id<TAB>features<TAB>label`, both under a header. Features are comma-separated values, or, if the header says
`feature_amount:LAST`, the numbers 0..LAST of the features that are one. Split files are called
`NAME_split_0.6_0.2_K.npz` and lie in the folder itself, in `../splits` or in `../../splits`.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from lipgnn.datasets.features import build_csr, canonical
from lipgnn.datasets.formats.arrays import load_arrays
from lipgnn.datasets.limits import read_text
from lipgnn.datasets.source import Features, Source, Split, damaged

EDGES_FILE = "out1_graph_edges.txt"
NODES_FILE = "out1_node_feature_label.txt"

_SPLIT_FILE = re.compile(r".+_split_0\.6_0\.2_(\d{1,3})\.npz")
_FEATURE_AMOUNT = re.compile(r"feature_amount:(\d{1,7})")


def read_geom_gcn(path: Path) -> Source:
    """Read the data set in folder `path`.

    Raises
    ------
    DataError : a file is missing, damaged or does not fit the others.
    """
    nodes_path = path / NODES_FILE
    if not nodes_path.exists():
        nodes_path = nodes_path.with_suffix(".txt.gz")
    header, *lines = _lines(nodes_path)
    try:
        features, labels = _nodes(header, lines)
    except (ValueError, OverflowError) as error:
        raise damaged(nodes_path, str(error)) from error
    edges_path = path / EDGES_FILE
    try:
        pairs = [tuple(map(int, line.split("\t"))) for line in _lines(edges_path)[1:]]
        edges = np.array(pairs, dtype=np.int64).reshape(len(pairs), 2).T.copy()
    except (ValueError, OverflowError) as error:
        raise damaged(edges_path, f"a line is not two node ids ({error})") from error
    return Source(
        name=path.name,
        edges=edges,
        directed=True,
        features=features,
        labels=labels,
        splits={f"geom-gcn:{k}": read_split(file, len(labels)) for k, file in _split_files(path)},
        origin=str(path),
    )


def read_split(path: Path, num_nodes: int) -> Split:
    """A split file: three masks, of booleans or of zeros and ones.

    Raises
    ------
    DataError : the file is damaged or does not fit the number of nodes.
    """
    arrays = load_arrays(path)
    masks = []
    for name in ("train_mask", "val_mask", "test_mask"):
        if name not in arrays:
            raise damaged(path, f"member {name!r} is missing")
        mask = arrays[name]
        if mask.shape != (num_nodes,) or mask.dtype.kind not in "biu" or not np.isin(mask, (0, 1)).all():
            raise damaged(path, f"member {name!r} is not a mask of {num_nodes} nodes")
        masks.append(mask.astype(bool))
    if (sum(mask.astype(np.int8) for mask in masks) > 1).any() or not masks[0].any():
        raise damaged(path, "its masks overlap or leave nothing to train on")
    return Split(*masks)


class GeomGcn:
    """Such folders as a `lipgnn.datasets.formats.Format`."""

    description = "a folder of Geom-GCN (out1_*.txt)"
    read = staticmethod(read_geom_gcn)

    def recognizes(self, path: Path) -> bool:
        return (path / EDGES_FILE).is_file()


def _lines(path: Path) -> list[str]:
    lines = read_text(path).splitlines()
    if len(lines) < 2:
        raise damaged(path, "it has no lines below its header")
    return lines


def _nodes(header: str, lines: list[str]) -> tuple[Features, np.ndarray]:
    """Features and labels in the order of the node ids, which the file need not follow."""
    rows: list[str | None] = [None] * len(lines)
    labels = np.zeros(len(lines), dtype=np.int64)
    for line in lines:
        fields = line.split("\t")
        if len(fields) != 3:
            raise ValueError(f"a line has {len(fields)} fields in place of id, features and label")
        node = int(fields[0])
        if not 0 <= node < len(lines) or rows[node] is not None:
            raise ValueError(f"node {node} is repeated or outside 0..{len(lines) - 1}")
        rows[node], labels[node] = fields[1], int(fields[2])
    amount = _FEATURE_AMOUNT.search(header)
    return (_indexed(rows, int(amount[1]) + 1) if amount else _valued(rows)), labels


def _indexed(rows: list[str], num_features: int) -> Features:
    indices = [np.array(row.split(",") if row else [], dtype=np.int64) for row in rows]
    indptr = np.cumsum([0, *map(len, indices)])
    flat = np.concatenate(indices)
    matrix = build_csr(np.ones(len(flat), np.float32), flat, indptr, (len(rows), num_features))
    # A feature listed twice is still one.
    matrix.data[:] = 1.0
    return matrix


def _valued(rows: list[str]) -> Features:
    with np.errstate(over="ignore"):  # an infinity is reported by Source
        return canonical(np.stack([np.array(row.split(","), dtype=np.float32) for row in rows]))


def _split_files(path: Path) -> list[tuple[int, Path]]:
    """The split files of the nearest folder that has any, by number."""
    for folder in (path, path.parent / "splits", path.parent.parent / "splits"):
        files = [(_SPLIT_FILE.fullmatch(file.name), file) for file in folder.glob(f"{path.name}_split_*.npz")]
        if found := sorted((int(match[1]), file) for match, file in files if match):
            return found
    return []
