"""Two tables, for data from a spreadsheet or a database: CSV, TSV or Parquet, and for edges also a plain list.

The table of nodes has a header and one line a node::

    id,label,split,<any feature columns>

`id` is any text, once each, and stays what the node is called; `label` is a class, empty if unknown, and may be left
out where all are; the optional `split` is `train`, `val`, `test` or empty, and becomes the split "public", unless no
label is known; columns `split_0`, `split_1`, … are several splits, of these names. Every other column is a feature and
holds numbers, in a Parquet file maybe a list of them. Labels that are exactly the integers 0..C-1 keep their numbers;
others are numbered in sorted order and become class names. The table of edges has the header `source,target` and one
line an edge; edges are undirected. A column `type`, any text, says of which type an edge is; types are numbered as
labels are. Columns with usual names, such as `src` and `dst`, are taken for what they are, and that is said. Weights of
edges are refused, for no layer uses them. Text files may be gzipped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from lipgnn.datasets.formats.records import PARQUET, TEXT_SUFFIXES, Columns, read_records, texts
from lipgnn.datasets.formats.roles import EDGE_ROLES, IGNORE, NODE_ROLES, Given, check_ignored, find_roles, guessed
from lipgnn.datasets.source import UNKNOWN, Source, Split, damaged

NODES, EDGES = "nodes", "edges"
_SUFFIXES = (*TEXT_SUFFIXES, *(f"{suffix}.gz" for suffix in TEXT_SUFFIXES), PARQUET)
# What a split calls its parts.
_PARTS = {
    "train": ("train", "training"),
    "val": ("val", "valid", "validation", "dev"),
    "test": ("test", "testing"),
}
_NUMBERED_SPLIT = re.compile(r"split[_-]([A-Za-z0-9_-]+)", re.ASCII)


def find(folder: Path, stem: str) -> Path | None:
    """The table of this name in a folder, if there is one."""
    return next((path for suffix in _SUFFIXES if (path := folder / f"{stem}{suffix}").is_file()), None)


def read_folder(path: Path, given: Given | None = None) -> Source:
    """Read a folder with nodes.csv and edges.csv, or a nodes file and the edges file named like it.

    Raises
    ------
    DataError : one of the files is missing or does not follow the layout.
    """
    if path.is_dir():
        nodes, edges = find(path, NODES), find(path, EDGES)
        if nodes is None or edges is None:
            raise damaged(path, f"it has no {EDGES if nodes else NODES}.csv")
        return read_tables(nodes, edges, name=path.name, given=given)
    if NODES not in path.name:
        raise damaged(path, "the name of a table of nodes must contain 'nodes'", "Its edges are sought beside it.")
    edges = path.with_name(path.name.replace(NODES, EDGES))
    return read_tables(path, edges, name=path.name.split(".")[0], given=given)


def read_tables(nodes: Path, edges: Path, *, name: str, given: Given | None = None) -> Source:
    """Read the layout described above from two files.

    Parameters
    ----------
    given : the columns that have some roles, where their names do not say it (see `lipgnn.datasets.formats.roles`).

    Raises
    ------
    DataError : a file is missing or does not follow the layout.
    """
    return from_columns((nodes, read_records(nodes)), (edges, read_records(edges)), name=name, given=given)


def from_columns(
    nodes: tuple[Path, Columns],
    edges: tuple[Path, Columns],
    *,
    name: str,
    given: Given | None = None,
    directed: bool = False,
) -> Source:
    """A source from the columns of two tables, each with the file that it comes from.

    Raises
    ------
    DataError : they do not follow the layout.
    """
    (path, columns), given = nodes, given or {}
    check_ignored(path, (columns, edges[1]), given)
    roles = find_roles(path, columns, NODE_ROLES, given, required=("id",))
    ids = texts(columns[roles["id"]])
    numbers = {text: number for number, text in enumerate(ids)}
    if len(numbers) != len(ids):
        repeated, _ = Counter(ids).most_common(1)[0]
        raise damaged(path, f"id {repeated!r} is there twice")
    labels, class_names = _classes(texts(columns[roles["label"]]) if "label" in roles else ("",) * len(ids))
    split_columns = _split_columns(columns, roles, given)
    taken = {*roles.values(), *split_columns.values(), *given.get(IGNORE, ())}
    pairs, types, remarks = _edges(*edges, numbers, given)
    known = (labels != UNKNOWN).any()
    return Source(
        name=name,
        edges=pairs,
        directed=directed,
        features=_features(
            path,
            {column: columns[column] for column in columns if column not in taken},
            len(ids),
            unlabelled="label" not in roles,
        ),
        labels=labels,
        splits={split: _split(path, texts(columns[c])) for split, c in split_columns.items()} if known else {},
        class_names=class_names,
        origin=str(path),
        edge_types=types,
        node_ids=np.array(ids, dtype=str),
        remarks=(*_remarks(path, guessed(roles, given)), *remarks),
    )


class Tables:
    """The layout above as a `lipgnn.datasets.formats.Format`: a folder, or the table of nodes."""

    description = "a folder with nodes.csv and edges.csv (or .tsv, .parquet)"
    read = staticmethod(read_folder)

    def recognizes(self, path: Path) -> bool:
        if path.is_dir():
            return find(path, NODES) is not None
        return path.is_file() and path.name.endswith(_SUFFIXES)


def _classes(texts: tuple[str, ...]) -> tuple[np.ndarray, tuple[str, ...] | None]:
    distinct = sorted(set(texts) - {""})
    numbers = {text: number for number, text in enumerate(distinct)}
    names: tuple[str, ...] | None = tuple(distinct)
    if set(distinct) == {str(number) for number in range(len(distinct))}:
        numbers, names = {text: int(text) for text in distinct}, None
    return np.array([numbers.get(text, UNKNOWN) for text in texts], dtype=np.int64), names


def _split_columns(columns: Columns, roles: Mapping[str, str], given: Given) -> dict[str, str]:
    """The name of every split, and its column."""
    found = {"public": roles["split"]} if "split" in roles else {}
    for column in columns:
        numbered = _NUMBERED_SPLIT.fullmatch(column)
        if numbered and column not in (*roles.values(), *given.get(IGNORE, ())):
            found[numbered[1]] = column
    return found


def _features(path: Path, columns: Columns, num_nodes: int, *, unlabelled: bool) -> np.ndarray:
    parts = [np.empty((num_nodes, 0), dtype=np.float32)]
    for name, column in columns.items():
        try:
            with np.errstate(over="ignore"):  # an infinity is reported by Source
                values = np.array(column, dtype=np.float64).astype(np.float32)
        except (ValueError, TypeError) as error:
            hint = f"If it is no feature, leave it out: lipgnn datasets import … --columns ignore={name}"
            hint += f", or, if it is the label, say so: --columns label={name}" if unlabelled else ""
            raise damaged(
                path, f"feature column {name!r} holds something that is not a number ({error})", hint
            ) from error
        parts.append(values.reshape(num_nodes, -1))
    return np.concatenate(parts, axis=1)


def _split(path: Path, column: Sequence[str]) -> Split:
    names = {name: part for part, words in _PARTS.items() for name in words}
    parts = [names.get(text.strip().lower(), text) for text in column]
    if unknown := sorted(set(parts) - {*_PARTS, ""}):
        raise damaged(path, f"split {unknown[0]!r} is none of train, val, test and empty")
    return Split(*(np.array([own == part for own in parts], dtype=bool) for part in _PARTS))


def _edges(
    path: Path, columns: Columns, numbers: Mapping[str, int], given: Given
) -> tuple[np.ndarray, np.ndarray | None, list[str]]:
    """The edges, their types, and what is to be said of their table."""
    if len(columns) < 2:
        raise damaged(path, f"an edge needs two columns, source and target, and it has only {', '.join(columns)!r}")
    roles = find_roles(path, columns, EDGE_ROLES, given, required=("source", "target"))
    if "weight" in roles:
        weight = roles["weight"]
        raise damaged(
            path,
            f"column {weight!r} has weights of edges, and no layer uses these",
            f"To do without them: lipgnn datasets import … --columns ignore={weight}, or remove the column.",
        )
    ends = [texts(columns[roles[end]]) for end in ("source", "target")]
    for end, ids in zip(("source", "target"), ends, strict=True):
        if unknown := next((text for text in ids if text not in numbers), None):
            raise damaged(path, f"{end} {unknown!r} is no id of the table of nodes")
    edges = np.array([[numbers[text] for text in ids] for ids in ends], dtype=np.int64)
    unused = [column for column in columns if column not in (*roles.values(), *given.get(IGNORE, ()))]
    remarks = _remarks(path, guessed(roles, given))
    remarks += [f"Columns of {path.name} that are not used: {', '.join(map(repr, unused))}."] if unused else []
    if "type" not in roles:
        return edges, None, remarks
    types = texts(columns[roles["type"]])
    if "" in types:
        raise damaged(path, f"the edge of row {types.index('') + 2} has no type, and others have one")
    return edges, _classes(types)[0], remarks


def _remarks(path: Path, guesses: list[str]) -> list[str]:
    return [f"Columns of {path.name} were taken: {', '.join(guesses)}."] if guesses else []
