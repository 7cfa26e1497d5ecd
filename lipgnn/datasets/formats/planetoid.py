"""Planetoid's citation data (Yang et al. 2016): eight files `ind.NAME.*` to a data set.

`x`, `y` are the training nodes, `allx`, `ally` all nodes but the test ones, `tx`, `ty` the test nodes in the
order of `test.index`, `graph` the neighbour lists. Node ids run through `allx`, then through the test ids in
increasing order; ids that `test.index` skips (15 in CiteSeer) are nodes without features and label.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
from scipy import sparse

from lipgnn.datasets.features import canonical
from lipgnn.datasets.formats.pickles import read_pickle
from lipgnn.datasets.source import UNKNOWN, Source, Split, damaged

NUM_VALIDATION = 500
_SUFFIX = ".graph"


def find_prefixes(folder: Path) -> list[str]:
    """The `ind.NAME` for which a folder holds neighbour lists."""
    return sorted(path.name.removesuffix(_SUFFIX) for path in folder.glob(f"ind.*{_SUFFIX}"))


def read_planetoid(path: Path) -> Source:
    """Read the set in folder `path`, or the set `path` = folder/ind.NAME of a folder with several.

    Raises
    ------
    DataError : no set or several in the folder, or a file that is missing, damaged or refused.
    """
    if path.is_dir():
        prefixes = find_prefixes(path)
        if len(prefixes) != 1:
            found = ", ".join(prefixes) or "none"
            raise damaged(
                path, f"it holds {len(prefixes)} sets of Planetoid files", f"Append one to the path: {found}."
            )
        path = path / prefixes[0]
    parts = {part: read_pickle(_file(path, part)) for part in ("x", "y", "tx", "ty", "allx", "ally", "graph")}
    test = _read_test_index(_file(path, "test.index"))
    try:
        most = _file(path, "graph").stat().st_size
        return _assemble(path, parts, test, most)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, MemoryError) as error:
        raise damaged(path, f"its files do not fit together ({error})") from error


class Planetoid:
    """Such files as a `lipgnn.datasets.formats.Format`: a folder with one set, or the beginning of its file names."""

    description = "a folder of Planetoid (ind.NAME.*)"
    read = staticmethod(read_planetoid)

    def recognizes(self, path: Path) -> bool:
        if path.is_dir():
            return bool(find_prefixes(path))
        return not path.is_file() and path.name in find_prefixes(path.parent)


def _file(path: Path, part: str) -> Path:
    return path.with_name(f"{path.name}.{part}")


def _read_test_index(path: Path) -> np.ndarray:
    try:
        return np.array([int(line) for line in path.read_text().split()], dtype=np.int64)
    except OSError as error:
        raise damaged(path, error.strerror or str(error)) from error
    except (ValueError, OverflowError) as error:
        raise damaged(path, f"not a list of node ids ({error})") from error


def _assemble(path: Path, parts: dict, test: np.ndarray, most_edges: int) -> Source:
    known, num_nodes = parts["allx"].shape[0], int(test.max()) + 1
    if test.min() < known or len(np.unique(test)) != len(test):
        raise ValueError("test.index repeats an id or names a training node")
    if len(test) != parts["tx"].shape[0] or len(test) != len(parts["ty"]):
        raise ValueError(f"{len(test)} test ids for {parts['tx'].shape[0]} test rows")
    if parts["ally"].shape[0] != known or num_nodes > 2 * (known + len(test)):
        raise ValueError("ally or test.index disagrees with allx in length")

    features = sparse.lil_array((num_nodes, parts["allx"].shape[1]), dtype=np.float32)
    features[:known] = parts["allx"]
    features[test] = parts["tx"]
    labels = np.full(num_nodes, UNKNOWN, dtype=np.int64)
    labels[:known] = _classes(parts["ally"])
    labels[test] = _classes(parts["ty"])

    num_train = len(parts["y"])
    train, val = np.arange(num_train), np.arange(num_train, num_train + NUM_VALIDATION)
    return Source(
        name=path.name.removeprefix("ind."),
        edges=_listed_edges(parts["graph"], most_edges),
        directed=False,
        features=canonical(features),
        labels=labels,
        splits={"public": Split.of_indices(num_nodes, train, val, test)},
        origin=str(path),
    )


def _classes(one_hot: np.ndarray) -> np.ndarray:
    """Class numbers of one-hot rows; an all-zero row is an unknown class."""
    if (
        not isinstance(one_hot, np.ndarray)
        or one_hot.ndim != 2
        or not np.isin(one_hot, (0, 1)).all()
        or (one_hot.sum(axis=1) > 1).any()
    ):
        raise ValueError("labels are not one-hot")
    return np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), UNKNOWN).astype(np.int64)


def _listed_edges(graph: dict[int, list[int]], most: int) -> np.ndarray:
    """Every entry of the neighbour lists, duplicates and self-loops included.

    Parameters
    ----------
    most : bytes of the file; there are no more entries, unless one list is there under many names.
    """
    lengths = [len(row) for row in graph.values()]
    if sum(lengths) > most:
        raise ValueError(f"{most:,} bytes list {sum(lengths):,} neighbours")
    sources = np.repeat(np.fromiter(graph, np.int64, len(graph)), lengths)
    targets = np.fromiter(itertools.chain.from_iterable(graph.values()), np.int64, len(sources))
    return np.stack([sources, targets])
