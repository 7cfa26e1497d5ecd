"""Folders of OGB's node property prediction sets (Hu et al. 2020), read from their raw csv.gz files.

Reading them directly needs neither OGB's loader, which may ask questions and delete the folder, nor the pickled
copies it makes: `raw/{edge,node-feat,node-label,num-node-list}.csv.gz` and `split/SCHEME/{train,valid,test}.csv.gz`.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np

from lipgnn.datasets.source import UNKNOWN, Source, Split, damaged

EDGES_FILE = Path("raw") / "edge.csv.gz"


def read_ogb(path: Path) -> Source:
    """Read the data set in folder `path`; its one split scheme becomes the split "public".

    Raises
    ------
    DataError : a file is missing, damaged or disagrees with the published counts.
    """
    num_nodes = _column(path / "raw" / "num-node-list.csv.gz")
    if len(num_nodes) != 1:
        raise damaged(path, f"it holds {len(num_nodes)} graphs, not one")
    count = int(num_nodes[0])
    edges = _table(path / EDGES_FILE, np.int64)
    if edges.shape[1] != 2:
        raise damaged(path / EDGES_FILE, f"a line has {edges.shape[1]} fields in place of source and target")
    features = _table(_features_file(path), np.float32)
    labels = _labels(path / "raw" / "node-label.csv.gz")
    for what, length in (("features", len(features)), ("labels", len(labels))):
        if length != count:
            raise damaged(path, f"{length} rows of {what} for {count} nodes")
    try:
        split = Split.of_indices(count, *(_column(file) for file in _split_files(path)))
    except ValueError as error:
        raise damaged(path, str(error)) from error
    return Source(
        name=path.name,
        edges=edges.T.copy(),
        directed=True,
        features=features,
        labels=labels,
        splits={"public": split},
        origin=str(path),
    )


def _features_file(path: Path) -> Path:
    file = path / "raw" / "node-feat.csv.gz"
    if not file.exists():
        raise damaged(file, "the folder comes without node features", "Copy raw/node-feat.csv.gz from OGB's download.")
    return file


def _labels(path: Path) -> np.ndarray:
    """Class numbers; OGB leaves the field of an unlabelled node empty."""
    values = _table(path, np.float64)
    if values.shape[1] != 1:
        raise damaged(path, f"{values.shape[1]} labels a node; only one is supported")
    values = np.where(np.isnan(values[:, 0]), UNKNOWN, values[:, 0])
    if not np.array_equal(values, np.round(values)):
        raise damaged(path, "a label is not an integer")
    return values.astype(np.int64)


def _split_files(path: Path) -> list[Path]:
    schemes = [folder for folder in sorted(path.glob("split/*")) if folder.is_dir()]
    if len(schemes) != 1:
        raise damaged(path / "split", f"it holds {len(schemes)} split schemes, not one")
    return [schemes[0] / f"{part}.csv.gz" for part in ("train", "valid", "test")]


def _column(path: Path) -> np.ndarray:
    return _table(path, np.int64)[:, 0]


def _table(path: Path, dtype: type) -> np.ndarray:
    import pandas

    try:
        frame = pandas.read_csv(path, header=None, dtype=dtype, engine="c", skip_blank_lines=False)
        return frame.to_numpy(dtype=dtype)
    except OSError as error:
        raise damaged(path, error.strerror or str(error)) from error
    except (ValueError, EOFError, OverflowError, zlib.error) as error:
        raise damaged(path, f"not a table of numbers ({str(error).strip()})") from error
