"""Files of DGL's `save_graphs`: one graph with features, labels and masks of its nodes, and maybe types of its edges.

They hold tensors and names and no pickles, so that reading one runs no code; but DGL's reader is a library in C++ that
trusts its input. A file that does not begin as such files do is not handed to it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lipgnn.datasets.limits import check_memory
from lipgnn.datasets.source import UNKNOWN, Source, Split, damaged

# The first eight bytes of every such file.
_MAGIC = (0xDD2E4FF046B4A13F).to_bytes(8, "little")
_FEATURES, _LABELS = ("feat", "features", "x"), ("label", "labels", "y")
_MASKS = ("train_mask", "val_mask", "test_mask")
# What DGL itself leaves at the edges of a part of a graph.
_DGL_IDS = "_ID"


def read_dgl(path: Path) -> Source:
    """Read a file with one graph that has one type of nodes and of edges.

    Raises
    ------
    DataError : the file is damaged, has several graphs, or its nodes have no features.
    """
    from lipgnn.runtime import dgl

    try:
        size = path.stat().st_size
        with open(path, "rb") as file:
            if file.read(8) != _MAGIC:
                raise damaged(path, "it is no file of DGL's save_graphs", _FROM_PYTHON)
        check_memory(path, 2 * size, size)
        graphs, _ = dgl.load_graphs(str(path))
    except (OSError, ValueError, RuntimeError, dgl.DGLError) as error:
        raise damaged(path, f"DGL cannot read it ({str(error).splitlines()[0]})", _FROM_PYTHON) from error
    if len(graphs) != 1 or not graphs[0].is_homogeneous:
        raise damaged(path, f"it has {len(graphs)} graphs or several types of nodes or edges", _FROM_PYTHON)
    return _source(path, graphs[0])


class DglGraphs:
    """Such files as a `lipgnn.datasets.formats.Format`."""

    description = "a file of DGL's save_graphs"
    read = staticmethod(read_dgl)

    def recognizes(self, path: Path) -> bool:
        if not (path.is_file() and path.suffix in (".bin", ".dgl")):
            return False
        with open(path, "rb") as file:
            return file.read(8) == _MAGIC


def _source(path: Path, graph: Any) -> Source:
    from lipgnn.runtime import EDGE_TYPE

    data = {name: tensor.numpy() for name, tensor in graph.ndata.items()}
    features = next((data[name] for name in _FEATURES if name in data), None)
    if features is None:
        raise damaged(path, f"its nodes have no features; they have {', '.join(data) or 'nothing'}", _FROM_PYTHON)
    if lost := sorted(set(graph.edata) - {EDGE_TYPE, _DGL_IDS}):
        raise damaged(path, f"its edges have {lost[0]!r}, which no layer uses", _FROM_PYTHON)
    count = graph.num_nodes()
    labels = next((data[name] for name in _LABELS if name in data), np.full(count, UNKNOWN))
    masks = [data[name].astype(bool) for name in _MASKS if name in data]
    return Source(
        name=path.stem,
        edges=np.stack([end.numpy() for end in graph.edges(order="eid")]).astype(np.int64),
        directed=True,
        features=features.reshape(count, -1).astype(np.float32),
        labels=labels.astype(np.float32 if labels.ndim == 2 else np.int64),
        splits={"public": Split(*masks)} if len(masks) == len(_MASKS) else {},
        origin=str(path),
        edge_types=graph.edata[EDGE_TYPE].numpy().astype(np.int64) if EDGE_TYPE in graph.edata else None,
    )


_FROM_PYTHON = (
    "From Python: data = lipgnn.from_dgl(graph, features=…, labels=…, masks=…); lipgnn.train(data, layers=30)."
)
