"""Two CSV files, for data from a spreadsheet or a database.

`nodes.csv` has a header and one line a node::

    id,label,split,<any feature columns>

`id` is any text, once each; `label` is a class, empty if unknown; the optional `split` is `train`, `val`,
`test` or empty, and becomes the split "public"; every other column is a feature and holds numbers. Labels that
are exactly the integers 0..C-1 keep their numbers; others are numbered in sorted order and become class names.
`edges.csv` has the header `source,target` and one line an edge; edges are undirected. Both may be gzipped.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lipgnn.datasets.source import UNKNOWN, Source, Split, damaged

if TYPE_CHECKING:
    import pandas

NODES, EDGES = "nodes", "edges"
_PARTS = ("train", "val", "test")
_COLUMNS = ("id", "label", "split")


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
    table = _read(nodes, required=("id", "label"))
    if table["id"].duplicated().any():
        raise damaged(nodes, f"id {table['id'][table['id'].duplicated()].iloc[0]!r} is there twice")
    labels, class_names = _classes(table["label"].to_numpy())
    return Source(
        name=name,
        edges=_edges(edges, table["id"]),
        directed=False,
        features=_features(nodes, table.drop(columns=[c for c in _COLUMNS if c in table])),
        labels=labels,
        splits={"public": _split(nodes, table["split"].to_numpy())} if "split" in table else {},
        class_names=class_names,
        origin=str(nodes),
    )


def _read(path: Path, required: tuple[str, ...]) -> pandas.DataFrame:
    """Every field as text: pandas must not guess that the id `007` is a number or `NA` a hole."""
    import pandas

    try:
        table = pandas.read_csv(path, dtype=str, keep_default_na=False, engine="c")
    except OSError as error:
        raise damaged(path, error.strerror or str(error)) from error
    except (ValueError, EOFError, zlib.error) as error:
        raise damaged(path, f"not a table ({str(error).strip()})") from error
    if not isinstance(table.index, pandas.RangeIndex) or table.isna().any(axis=None):
        raise damaged(path, "a line has more or fewer fields than the header")
    if missing := [column for column in required if column not in table]:
        raise damaged(path, f"column {missing[0]!r} is missing")
    return table


def _classes(texts: np.ndarray) -> tuple[np.ndarray, tuple[str, ...] | None]:
    distinct = sorted(set(texts) - {""})
    numbers = {text: number for number, text in enumerate(distinct)}
    names: tuple[str, ...] | None = tuple(distinct)
    if set(distinct) == {str(number) for number in range(len(distinct))}:
        numbers, names = {text: int(text) for text in distinct}, None
    return np.array([numbers.get(text, UNKNOWN) for text in texts], dtype=np.int64), names


def _features(path: Path, columns: pandas.DataFrame) -> np.ndarray:
    import pandas

    values = np.empty(columns.shape, dtype=np.float32)
    for index, column in enumerate(columns):
        try:
            with np.errstate(over="ignore"):  # an infinity is reported by Source
                values[:, index] = pandas.to_numeric(columns[column])
        except (ValueError, TypeError) as error:
            raise damaged(path, f"feature column {column!r} holds something that is not a number ({error})") from error
    return values


def _split(path: Path, texts: np.ndarray) -> Split:
    if unknown := sorted(set(texts) - {*_PARTS, ""}):
        raise damaged(path, f"split {unknown[0]!r} is none of train, val, test and empty")
    return Split(*(np.asarray(texts == part, dtype=bool) for part in _PARTS))


def _edges(path: Path, ids: pandas.Series) -> np.ndarray:
    table = _read(path, required=("source", "target"))
    numbers = {text: number for number, text in enumerate(ids)}
    ends = []
    for column in ("source", "target"):
        mapped = table[column].map(numbers)
        if mapped.isna().any():
            raise damaged(path, f"{column} {table[column][mapped.isna()].iloc[0]!r} is no id of the table of nodes")
        ends.append(mapped.to_numpy(dtype=np.int64))
    return np.stack(ends)
