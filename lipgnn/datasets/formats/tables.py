"""Two CSV files, for data from a spreadsheet or a database.

`nodes.csv` has a header and one line a node::

    id,label,split,<any feature columns>

`id` is any text, once each, and stays what the node is called; `label` is a class, empty if unknown, and may be left
out where all are; the optional `split` is `train`, `val`, `test` or empty, and becomes the split "public", unless no
label is known; every other column is a feature and holds numbers. Labels that
are exactly the integers 0..C-1 keep their numbers; others are numbered in sorted order and become class names.
`edges.csv` has the header `source,target` and one line an edge; edges are undirected. A third column `type`, any text,
says of which type an edge is; types are numbered as labels are. Both files may be gzipped.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path

import numpy as np

from lipgnn.datasets.limits import read_text
from lipgnn.datasets.source import UNKNOWN, Source, Split, damaged

NODES, EDGES = "nodes", "edges"
_PARTS = ("train", "val", "test")
_NO_FEATURES = ("id", "label", "split")

Columns = dict[str, tuple[str, ...]]


def find(folder: Path, stem: str) -> Path | None:
    """`stem`.csv or `stem`.csv.gz of a folder, if there is one."""
    return next((path for suffix in (".csv", ".csv.gz") if (path := folder / f"{stem}{suffix}").is_file()), None)


def read_folder(path: Path) -> Source:
    """Read a folder with nodes.csv and edges.csv, or a nodes file and the edges file named like it.

    Raises
    ------
    DataError : one of the files is missing or does not follow the layout.
    """
    if path.is_dir():
        nodes, edges = find(path, NODES), find(path, EDGES)
        if nodes is None or edges is None:
            raise damaged(path, f"it has no {EDGES if nodes else NODES}.csv")
        return read_tables(nodes, edges, name=path.name)
    if NODES not in path.name:
        raise damaged(path, "the name of a table of nodes must contain 'nodes'", "Its edges are sought beside it.")
    edges = path.with_name(path.name.replace(NODES, EDGES))
    return read_tables(path, edges, name=path.name.split(".")[0])


def read_tables(nodes: Path, edges: Path, *, name: str) -> Source:
    """Read the layout described above from two files.

    Raises
    ------
    DataError : a file is missing or does not follow the layout.
    """
    columns = _read(nodes, required=("id",))
    numbers = {text: number for number, text in enumerate(columns["id"])}
    if len(numbers) != len(columns["id"]):
        repeated, _ = Counter(columns["id"]).most_common(1)[0]
        raise damaged(nodes, f"id {repeated!r} is there twice")
    labels, class_names = _classes(columns.get("label", ("",) * len(numbers)))
    pairs, types = _edges(edges, numbers)
    return Source(
        name=name,
        edges=pairs,
        directed=False,
        features=_features(nodes, columns),
        labels=labels,
        splits={"public": _split(nodes, columns["split"])} if "split" in columns and (labels != UNKNOWN).any() else {},
        class_names=class_names,
        origin=str(nodes),
        edge_types=types,
        node_ids=np.array(columns["id"], dtype=str),
    )


class Tables:
    """The layout above as a `lipgnn.datasets.formats.Format`: a folder, or the table of nodes."""

    description = "a folder with nodes.csv and edges.csv"
    read = staticmethod(read_folder)

    def recognizes(self, path: Path) -> bool:
        if path.is_dir():
            return find(path, NODES) is not None
        return path.is_file() and path.name.endswith((".csv", ".csv.gz"))


def _read(path: Path, required: tuple[str, ...]) -> Columns:
    """Columns by name, every field as text: an id `007` is no number, and `NA` no hole."""
    text = read_text(path)
    try:
        header, *lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    except (ValueError, csv.Error) as error:
        raise damaged(path, f"not a table ({error})") from error
    if missing := [column for column in required if column not in header]:
        raise damaged(path, f"column {missing[0]!r} is missing")
    if len(set(header)) != len(header):
        raise damaged(path, "two columns have one name")
    for number, line in enumerate(lines, start=2):
        if len(line) != len(header):
            raise damaged(path, f"row {number} has {len(line)} fields, the header {len(header)}")
    return dict(zip(header, zip(*lines, strict=True), strict=True)) if lines else dict.fromkeys(header, ())


def _classes(texts: tuple[str, ...]) -> tuple[np.ndarray, tuple[str, ...] | None]:
    distinct = sorted(set(texts) - {""})
    numbers = {text: number for number, text in enumerate(distinct)}
    names: tuple[str, ...] | None = tuple(distinct)
    if set(distinct) == {str(number) for number in range(len(distinct))}:
        numbers, names = {text: int(text) for text in distinct}, None
    return np.array([numbers.get(text, UNKNOWN) for text in texts], dtype=np.int64), names


def _features(path: Path, columns: Columns) -> np.ndarray:
    names = [name for name in columns if name not in _NO_FEATURES]
    values = np.empty((len(columns["id"]), len(names)), dtype=np.float32)
    for index, name in enumerate(names):
        try:
            with np.errstate(over="ignore"):  # an infinity is reported by Source
                values[:, index] = np.array(columns[name], dtype=np.float64)
        except ValueError as error:
            raise damaged(path, f"feature column {name!r} holds something that is not a number ({error})") from error
    return values


def _split(path: Path, texts: tuple[str, ...]) -> Split:
    if unknown := sorted(set(texts) - {*_PARTS, ""}):
        raise damaged(path, f"split {unknown[0]!r} is none of train, val, test and empty")
    return Split(*(np.array([text == part for text in texts], dtype=bool) for part in _PARTS))


def _edges(path: Path, numbers: dict[str, int]) -> tuple[np.ndarray, np.ndarray | None]:
    columns = _read(path, required=("source", "target"))
    for end in ("source", "target"):
        if unknown := [text for text in columns[end] if text not in numbers]:
            raise damaged(path, f"{end} {unknown[0]!r} is no id of the table of nodes")
    edges = np.array([[numbers[text] for text in columns[end]] for end in ("source", "target")], dtype=np.int64)
    if "type" not in columns:
        return edges, None
    if "" in columns["type"]:
        raise damaged(path, f"the edge of row {columns['type'].index('') + 2} has no type, and others have one")
    return edges, _classes(columns["type"])[0]
