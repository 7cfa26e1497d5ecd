"""The graph itself: its components, and how fast the uniform walk on it forgets where it began."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, eigs, eigsh

from lipgnn.runtime import PerGraph, dgl

# Up to so many nodes all eigenvalues are found at once, which is exact and as quick.
_DENSE = 200
_SEED = 0
# How exactly an eigenvector is found by iteration: the eigenvalue of a symmetric walk is right to its square over the
# distance to the next one (1e-7 on the citation graphs), that of another is not.
_TOLERANCE, _TOLERANCE_DIRECTED = 1e-4, 1e-6


def components(graph: dgl.DGLGraph) -> torch.Tensor:
    """The number of every node's connected component, direction ignored, (N,) int64 on the graph's device."""
    return torch.from_numpy(_components(graph)).to(graph.device)


def component_count(graph: dgl.DGLGraph) -> int:
    """How many connected components there are, direction ignored."""
    return int(_components(graph).max(initial=-1)) + 1


def second_eigenvalue(graph: dgl.DGLGraph) -> float | None:
    """λ₂, the second largest |eigenvalue| of the uniform walk D⁻¹A on the largest component.

    Row i of A has the in-edges of node i, D their number: what attention does whose scores are all equal. Rows that a
    walk mixes come λ₂ times closer with every step, in the long run.

    Returns
    -------
    None for a component of one node, or where the iteration does not converge.
    """
    return _second_eigenvalue(graph)


def adjacency(graph: dgl.DGLGraph) -> sparse.csr_array:
    """Row i has the in-edges of node i, parallel ones added up."""
    return _adjacency(*_ends(graph), graph.num_nodes())


def _adjacency(sources: np.ndarray, targets: np.ndarray, size: int) -> sparse.csr_array:
    """Row i has the in-edges of node i, in the order of their sources."""
    return sparse.coo_array((np.ones(len(sources)), (targets, sources)), shape=(size, size)).tocsr()


def _ends(graph: dgl.DGLGraph) -> tuple[np.ndarray, np.ndarray]:
    sources, targets = (ends.cpu().numpy() for ends in graph.edges())
    return sources, targets


def _find_components(graph: dgl.DGLGraph) -> np.ndarray:
    return connected_components(adjacency(graph), directed=False)[1].astype(np.int64)


def _find_second_eigenvalue(graph: dgl.DGLGraph) -> float | None:
    into = _largest_component(graph)
    size = into.shape[0]
    if size < 2:
        return None
    degrees = into.sum(axis=1)
    inverse = np.divide(1, degrees, out=np.zeros_like(degrees), where=degrees > 0)
    if _is_symmetric(into):
        # D^-½ A D^-½ is symmetric and has the eigenvalues of D⁻¹A.
        walk = _scaled(into, np.sqrt(inverse), np.sqrt(inverse))
        dense, iterate, tolerance = np.linalg.eigvalsh, eigsh, _TOLERANCE
    else:
        walk = _scaled(into, inverse, np.ones(size))
        dense, iterate, tolerance = np.linalg.eigvals, eigs, _TOLERANCE_DIRECTED
    if size <= _DENSE:
        values = dense(walk.toarray())
    else:
        start = np.random.RandomState(_SEED).standard_normal(size)
        try:
            values = iterate(walk, k=2, which="LM", v0=start, tol=tolerance, return_eigenvectors=False)
        except ArpackError:
            return None
    return float(np.sort(abs(values))[-2])


def _largest_component(graph: dgl.DGLGraph) -> sparse.csr_array:
    """The adjacency of the largest component alone."""
    labels = _components(graph)
    members = labels == np.bincount(labels).argmax() if len(labels) else np.zeros(0, dtype=bool)
    sources, targets = _ends(graph)
    # An edge never leaves a component.
    inside, number = members[sources], members.cumsum() - 1
    return _adjacency(number[sources[inside]], number[targets[inside]], int(members.sum()))


def _is_symmetric(matrix: sparse.csr_array) -> bool:
    flipped = matrix.T.tocsr()
    return all(np.array_equal(getattr(matrix, part), getattr(flipped, part)) for part in ("indptr", "indices", "data"))


def _scaled(matrix: sparse.csr_array, rows: np.ndarray, columns: np.ndarray) -> sparse.csr_array:
    """Every entry times a number of its row and one of its column."""
    factors = np.repeat(rows, np.diff(matrix.indptr)) * columns[matrix.indices]
    return sparse.csr_array((matrix.data * factors, matrix.indices, matrix.indptr), shape=matrix.shape)


# Once a graph: every layer asks for the same.
_components = PerGraph(_find_components)
_second_eigenvalue = PerGraph(_find_second_eigenvalue)
