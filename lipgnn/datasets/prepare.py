"""From listed edges to the graph a model sees, and the fingerprint that identifies it."""

from __future__ import annotations

import hashlib

import numpy as np

from lipgnn.datasets.features import canonical
from lipgnn.datasets.source import Source, Split


def prepare_edges(source: Source) -> np.ndarray:
    """Edges of shape (2, E) with each listed edge once and exactly one self-loop a node.

    Undirected edges are there in both directions. The order, by target and then source, does not depend on the
    order in the file. Layers rely on the self-loops: no node is without a neighbour.
    """
    loops = np.arange(source.num_nodes)
    listed = source.edges[:, source.edges[0] != source.edges[1]]
    if not source.directed:
        listed = np.concatenate([listed, listed[::-1]], axis=1)
    sources, targets = np.concatenate([listed, np.stack([loops, loops])], axis=1)
    pairs = np.unique(targets * source.num_nodes + sources)
    return np.stack([pairs % source.num_nodes, pairs // source.num_nodes])


def fingerprint(source: Source, edges: np.ndarray, split: Split) -> str:
    """16 hex digits that change with the graph, the features, the labels or the split, and with nothing else.

    Parameters
    ----------
    source : where features and labels are taken from, as published.
    edges : the result of `prepare_edges`.
    split : the chosen split.
    """
    direction = "directed" if source.directed else "undirected"
    digest = hashlib.sha256(f"lipgnn-data-1;{direction};deduplicated;self-loops".encode())
    matrix = canonical(source.features)
    for array, dtype in (
        (edges, "<i8"),
        (np.array(matrix.shape), "<i8"),
        (matrix.indptr, "<i8"),
        (matrix.indices, "<i8"),
        (matrix.data, "<f4"),
        (source.labels, "<f4" if source.several_labels else "<i8"),
        *((mask, "|b1") for mask in split.parts.values()),
    ):
        digest.update(f";{dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array, dtype=dtype).tobytes())
    return digest.hexdigest()[:16]
