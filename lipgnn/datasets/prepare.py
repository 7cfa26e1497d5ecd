"""From listed edges to the graph a model sees, and the fingerprint that identifies it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from scipy import sparse

from lipgnn.datasets.features import canonical
from lipgnn.datasets.source import Features, Source, Split

# Of dense features, looked at together.
_ROWS = 1 << 16


def prepare_edges(source: Source) -> np.ndarray:
    """Edges of shape (2, E) with each listed edge once and exactly one self-loop a node.

    Undirected edges are there in both directions. The order, by target and then source, does not depend on the
    order in the file. Layers rely on the self-loops: no node is without a neighbour.
    """
    return _prepared(source)[0]


def prepare_types(source: Source) -> np.ndarray | None:
    """The types of the edges of `prepare_edges`, (E,) int64; None where the data has none.

    Both directions of an undirected edge are of its type. Edges of several types between the same nodes are several
    edges, in the order of their types; one that repeats another of its type is left out. Listed self-loops are left
    out as well, whatever their type, and those that are added are of a type of their own, the last.
    """
    return _prepared(source)[1]


def _prepared(source: Source) -> tuple[np.ndarray, np.ndarray | None]:
    loops, others = np.arange(source.num_nodes), source.edges[0] != source.edges[1]
    listed = source.edges[:, others]
    if not source.directed:
        listed = np.concatenate([listed, listed[::-1]], axis=1)
    sources, targets = np.concatenate([listed, np.stack([loops, loops])], axis=1)
    pairs = targets * source.num_nodes + sources
    if source.edge_types is None:
        pairs, types = np.unique(pairs), None
    else:
        of_listed = np.tile(source.edge_types[others], 1 if source.directed else 2)
        types = np.concatenate([of_listed, np.full(len(loops), source.num_edge_types)])
        order = np.lexsort((types, pairs))
        pairs, types = pairs[order], types[order]
        first = np.ones(len(pairs), dtype=bool)
        first[1:] = (np.diff(pairs) != 0) | (np.diff(types) != 0)
        pairs, types = pairs[first], types[first]
    return np.stack([pairs % source.num_nodes, pairs // source.num_nodes]), types


def fingerprint(source: Source, edges: np.ndarray, split: Split) -> str:
    """16 hex digits that change with the graph, its types of edges, features, labels or split, and with nothing else.

    Parameters
    ----------
    source : where features and labels are taken from, as its authors give it.
    edges : the result of `prepare_edges`.
    split : the chosen split.
    """
    direction = "directed" if source.directed else "undirected"
    digest = hashlib.sha256(f"lipgnn-data-1;{direction};deduplicated;self-loops".encode())
    starts, columns, values = _csr_parts(source.features)
    stored, types = (int(starts[-1]),), prepare_types(source)
    for shape, pieces, dtype in (
        (edges.shape, [edges], "<i8"),
        ((2,), [np.array(source.features.shape)], "<i8"),
        (starts.shape, [starts], "<i8"),
        (stored, columns, "<i8"),
        (stored, values, "<f4"),
        (source.labels.shape, [source.labels], "<f4" if source.several_labels else "<i8"),
        *((mask.shape, [mask], "|b1") for mask in split.parts.values()),
        *([] if types is None else [(types.shape, [types], "<i8")]),
    ):
        digest.update(f";{dtype}{shape}".encode())
        for piece in pieces:
            digest.update(np.ascontiguousarray(piece, dtype=dtype))
    return digest.hexdigest()[:16]


def _csr_parts(features: Features) -> tuple[np.ndarray, Iterable[np.ndarray], Iterable[np.ndarray]]:
    """Row starts, columns and values of the canonical CSR form, the last two in pieces.

    In pieces, because as CSR the dense features of a large graph would take several times their size.
    """
    if sparse.issparse(features):
        matrix = canonical(features)
        return matrix.indptr, [matrix.indices], [matrix.data]
    blocks = [features[start : start + _ROWS] for start in range(0, len(features), _ROWS)]
    counts = np.concatenate([np.count_nonzero(block, axis=1) for block in blocks])
    starts = np.concatenate([[0], np.cumsum(counts)])
    return starts, (np.nonzero(block)[1] for block in blocks), (block[block != 0] for block in blocks)
