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
# How exactly an eigenvalue is found by iteration: more digits than anybody is shown take twice as long.
_TOLERANCE = 1e-6


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


def _adjacency(graph: dgl.DGLGraph) -> sparse.csr_array:
    sources, targets = (ends.cpu().numpy() for ends in graph.edges())
    size = graph.num_nodes()
    return sparse.csr_array((np.ones(len(sources)), (targets, sources)), shape=(size, size))


def _find_components(graph: dgl.DGLGraph) -> np.ndarray:
    return connected_components(_adjacency(graph), directed=False)[1].astype(np.int64)


def _find_second_eigenvalue(graph: dgl.DGLGraph) -> float | None:
    labels = _components(graph)
    members = np.flatnonzero(labels == np.bincount(labels).argmax()) if len(labels) else labels
    if len(members) < 2:
        return None
    adjacency = _adjacency(graph)[members][:, members]
    degrees = adjacency.sum(axis=1)
    inverse = np.divide(1, degrees, out=np.zeros_like(degrees), where=degrees > 0)
    if (adjacency != adjacency.T).nnz:
        walk = sparse.diags_array(inverse) @ adjacency
        dense, iterate = np.linalg.eigvals, eigs
    else:
        # D^-½ A D^-½ is symmetric and has the eigenvalues of D⁻¹A.
        walk = sparse.diags_array(np.sqrt(inverse)) @ adjacency @ sparse.diags_array(np.sqrt(inverse))
        dense, iterate = np.linalg.eigvalsh, eigsh
    if len(members) <= _DENSE:
        values = dense(walk.toarray())
    else:
        start = np.random.RandomState(_SEED).standard_normal(len(members))
        try:
            values = iterate(walk, k=2, which="LM", v0=start, tol=_TOLERANCE, return_eigenvectors=False)
        except ArpackError:
            return None
    return float(np.sort(abs(values))[-2])


# Once a graph: every layer asks for the same.
_components = PerGraph(_find_components)
_second_eigenvalue = PerGraph(_find_second_eigenvalue)
