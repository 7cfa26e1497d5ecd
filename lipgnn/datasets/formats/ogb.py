"""Folders of OGB's node property prediction sets (Hu et al. 2020), read from their raw csv.gz files.

Reading them directly needs neither OGB's loader, which may ask questions and delete the folder, nor the pickled
copies it makes::

    raw/num-node-list, num-edge-list      one number each
    raw/edge                              source and target
    raw/node-feat                         one line a node; may be absent
    raw/edge-feat                         one line an edge, in place of node-feat (ogbn-proteins)
    raw/node-label                        a class, empty if unknown; or 0 and 1 for several tasks (ogbn-proteins)
    split/SCHEME/train, valid, test       node ids

all with the ending .csv.gz. What was read is kept in the cache (`lipgnn.datasets.cache`) until a file changes.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from lipgnn.catalog import DATASETS, OgbEntry
from lipgnn.datasets.cache import key_of_files, remember
from lipgnn.datasets.formats.npz import read_npz, write_npz
from lipgnn.datasets.limits import open_plain
from lipgnn.datasets.source import UNKNOWN, Source, Split, damaged

EDGES_FILE = Path("raw") / "edge.csv.gz"
NODE_FEATURES_FILE = Path("raw") / "node-feat.csv.gz"
EDGE_FEATURES_FILE = Path("raw") / "edge-feat.csv.gz"
LABELS_FILE = Path("raw") / "node-label.csv.gz"


def read_ogb(path: Path) -> Source:
    """Read the data set in folder `path`; its one split scheme becomes the split "public".

    A folder without features of nodes and edges gives a source without features. A folder called as OGB calls it
    (`ogbn_arxiv`, or `arxiv` as it is in the archive) is also held against what is known of that set.

    Raises
    ------
    DataError : a file is missing, damaged or disagrees with what is known of the set.
    """
    files = [*path.glob("raw/*.csv.gz"), *path.glob("split/*/*.csv.gz")]
    source = remember(
        # The name is part of it, because it decides what the files are held against.
        path.absolute().name,
        key_of_files(path, files),
        make=lambda: _read(path),
        read=read_npz,
        write=lambda source, file: write_npz(source, file, compress=False),
    )
    return dataclasses.replace(source, name=path.name, origin=str(path))


class Ogb:
    """Such folders as a `lipgnn.datasets.formats.Format`."""

    description = "a folder of OGB (raw/*.csv.gz)"
    read = staticmethod(read_ogb)

    def recognizes(self, path: Path) -> bool:
        return (path / EDGES_FILE).is_file()


def _read(path: Path) -> Source:
    known = _known(path.absolute().name)
    nodes, edges = _count(path, "node"), _edges(path)
    if len(edges) != (listed := _count(path, "edge")):
        raise damaged(path / EDGES_FILE, f"it has {len(edges)} lines for {listed} edges")
    if len(edges) and (edges.min() < 0 or edges.max() >= nodes):
        wrong = edges.min() if edges.min() < 0 else edges.max()
        raise damaged(path / EDGES_FILE, f"an edge names node {wrong}, outside 0..{nodes - 1}")
    # First, because the file has a line for every node: the number of nodes is not taken on trust.
    labels = _labels(path / LABELS_FILE, nodes, known)
    return Source(
        name=path.name,
        edges=edges.T.copy(),
        directed=known.directed if known else True,
        features=_features(path, nodes, edges),
        labels=labels,
        splits={"public": _split(path, nodes)},
        origin=str(path),
    )


def _known(folder: str) -> OgbEntry | None:
    names = (f"ogbn-{folder}", folder.replace("_", "-"))
    return next((entry for name in names if isinstance(entry := DATASETS.get(name), OgbEntry)), None)


def _count(path: Path, what: str) -> int:
    file = path / "raw" / f"num-{what}-list.csv.gz"
    numbers = _table(file, np.int64)
    if numbers.shape != (1, 1):
        raise damaged(file, f"it counts the {what}s of {len(numbers)} graphs, not of one")
    return int(numbers[0, 0])


def _edges(path: Path) -> np.ndarray:
    edges = _table(path / EDGES_FILE, np.int64)
    if edges.shape[1] != 2:
        raise damaged(path / EDGES_FILE, f"a line has {edges.shape[1]} fields in place of source and target")
    return edges


def _features(path: Path, nodes: int, edges: np.ndarray) -> np.ndarray:
    """Features of the nodes; else, as in OGB's own examples, the mean over the edges at a node; else none."""
    if (path / NODE_FEATURES_FILE).exists():
        return _rows(path / NODE_FEATURES_FILE, np.float32, nodes, "nodes")
    if not (path / EDGE_FEATURES_FILE).exists():
        return np.empty((nodes, 0), dtype=np.float32)
    values = _rows(path / EDGE_FEATURES_FILE, np.float32, len(edges), "edges")
    ends = edges.T.ravel()
    degree = np.maximum(np.bincount(ends, minlength=nodes), 1)
    sums = [np.bincount(ends, weights=np.tile(column, 2), minlength=nodes) for column in values.T]
    return (np.stack(sums, axis=1) / degree[:, None]).astype(np.float32)


def _labels(path: Path, nodes: int, known: OgbEntry | None) -> np.ndarray:
    """Class numbers, or the answers to several tasks; OGB leaves the field of an unknown label empty."""
    values = _rows(path, np.float64, nodes, "nodes")
    tasks = values.shape[1]
    if known and tasks != (expected := known.outputs if known.several_labels else 1):
        raise damaged(path, f"it has {tasks} labels a node, not {expected}")
    if tasks > 1:
        if not (np.isnan(values) | np.isin(values, (0, 1))).all():
            raise damaged(path, "a label of several is neither 0 nor 1")
        return values.astype(np.float32)
    present = values[~np.isnan(values)]
    if not np.array_equal(present, np.round(present)):
        raise damaged(path, "a label is not an integer")
    # Any class fits a folder of another name; beyond 2^31 a number is damage and not a class.
    last = known.outputs - 1 if known else 2**31
    if present.size and (present.min() < 0 or present.max() > last):
        wrong = present.min() if present.min() < 0 else present.max()
        raise damaged(path, f"label {wrong:.0f} is outside 0..{last}")
    return np.where(np.isnan(values[:, 0]), UNKNOWN, values[:, 0]).astype(np.int64)


def _split(path: Path, nodes: int) -> Split:
    schemes = [folder for folder in sorted(path.glob("split/*")) if folder.is_dir()]
    if len(schemes) != 1:
        raise damaged(path / "split", f"it holds {len(schemes)} split schemes, not one")
    parts = []
    seen = np.zeros(nodes, dtype=bool)
    for part in ("train", "valid", "test"):
        file = schemes[0] / f"{part}.csv.gz"
        ids = _table(file, np.int64)
        if ids.shape[1] != 1 or ids.min() < 0 or ids.max() >= nodes:
            raise damaged(file, f"a line is not the id of one node in 0..{nodes - 1}")
        if len(np.unique(ids)) != len(ids) or seen[ids].any():
            raise damaged(file, "a node is there twice, or also in another part of the split")
        seen[ids] = True
        parts.append(ids[:, 0])
    return Split.of_indices(nodes, *parts)


def _rows(path: Path, dtype: type, count: int, what: str) -> np.ndarray:
    table = _table(path, dtype)
    if len(table) != count:
        raise damaged(path, f"it has {len(table)} lines for {count} {what}")
    return table


def _table(path: Path, dtype: type) -> np.ndarray:
    """A file of numbers; one without a single line is damaged."""
    import pandas

    with open_plain(path) as file:
        try:
            # A number that is no id is refused below; that it becomes another one on the way needs no warning.
            with np.errstate(invalid="ignore", over="ignore"):
                frame = pandas.read_csv(file, header=None, dtype=dtype, engine="c", skip_blank_lines=False)
                return frame.to_numpy(dtype=dtype)
        except (ValueError, OverflowError, TypeError) as error:
            raise damaged(path, f"not a table of numbers ({str(error).strip()})") from error
