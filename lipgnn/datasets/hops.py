"""The fewest edges from node to node, breadth-first from many nodes at once: a bit of a machine word for each of them.

Reference: Then et al., "The more the merrier: efficient multi-source graph traversal", VLDB 2014.
"""

from __future__ import annotations

import numpy as np

_WORD = 64
_MOST_WORDS = 2**22
"""Words of one step, for every edge and sixty-four starts one; more starts are taken in turns."""


def count_hops(edges: np.ndarray, num_nodes: int, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The length of a shortest path for every pair of nodes.

    Parameters
    ----------
    edges : (2, E) int64, sources and targets.
    starts, ends : (P,) int64.

    Returns
    -------
    (P,) int64; −1 where no path leads from start to end.
    """
    found = np.full(len(starts), -1, dtype=np.int64)
    nodes, number = np.unique(starts, return_inverse=True)
    order = np.argsort(edges[1], kind="stable")
    sources, targets = edges[:, order]
    at_once = _WORD * max(_MOST_WORDS // max(len(sources), num_nodes, 1), 1)
    for first in range(0, len(nodes), at_once):
        pairs = np.flatnonzero((number >= first) & (number < first + at_once))
        begun = nodes[first : first + at_once]
        found[pairs] = _spread(sources, targets, num_nodes, begun, number[pairs] - first, ends[pairs])
    return found


def _spread(
    sources: np.ndarray, targets: np.ndarray, num_nodes: int, begun: np.ndarray, number: np.ndarray, ends: np.ndarray
) -> np.ndarray:
    """Lengths for some pairs: from begun[number] to `ends`; edges are in the order of their targets."""
    word, bit = np.divmod(np.arange(len(begun)), _WORD)
    reached = np.zeros((num_nodes, -(-len(begun) // _WORD)), dtype=np.uint64)
    np.bitwise_or.at(reached, (begun, word), np.left_shift(np.uint64(1), bit.astype(np.uint64)))
    heads, groups = np.unique(targets, return_index=True)
    found, waiting, steps = np.full(len(ends), -1, dtype=np.int64), np.arange(len(ends)), 0
    while True:
        seen = reached[ends[waiting], word[number[waiting]]] >> bit[number[waiting]].astype(np.uint64)
        here = (seen & np.uint64(1)).astype(bool)
        found[waiting[here]] = steps
        waiting = waiting[~here]
        if not len(waiting) or not len(heads):
            return found
        arrived = reached[heads] | np.bitwise_or.reduceat(reached[sources], groups, axis=0)
        if (arrived == reached[heads]).all():
            return found
        reached[heads] = arrived
        steps += 1
