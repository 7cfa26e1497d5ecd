"""What many trees have in common: a subtree that is found in several of them is computed once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from lipgnn.datasets.generated.trees import TreeDataset
from lipgnn.network.hops import Hop
from lipgnn.runtime import dgl

# In the last layers, a graph is computed on its own: the root and what is within so many edges.
OWN_LAYERS = 2


@dataclass(frozen=True, eq=False)
class Subtrees:
    """The first L − 2 layers of all graphs at once, on the kinds of nodes that there are.

    Nodes are of one kind in layer 0 if they have the same key and value, and in layer k if they were of one kind in
    layer k − 1 and so were their children: as long as a node depends on its in-neighbours alone, all of a kind have
    the same features. Kinds are those of Weisfeiler & Leman's refinement of colours (1968).

    Attributes
    ----------
    features : (2, M₀), keys and values of the kinds in layer 0.
    hops : one a layer; its targets are the kinds in that layer, its inputs kinds in the layer before.
    top : (7, G), the kinds in layer L − 2 of the root of every graph, its children and theirs, by depth.
    """

    features: torch.Tensor
    hops: list[Hop]
    top: torch.Tensor

    @property
    def rows(self) -> int:
        """How many nodes are computed, over all layers."""
        return sum(hop.graph.num_nodes() for hop in self.hops)

    @classmethod
    def of(cls, dataset: TreeDataset, layers: int, device: torch.device) -> Subtrees:
        """The subtrees of all graphs of a data set, for a network of at most r + 1 layers.

        Until layer r − 1 nothing from the leaves has reached the children of a root. So what is a root by then
        depends on its key, and what is another node on the permutation: n − 1 nodes a permutation and a root a key are
        all there is to look at.
        """
        trees = dataset.trees
        by_depth = np.argsort(dataset.depths, kind="stable")
        asked_first = np.arange(trees.permutations) * trees.leaves  # a graph of every permutation
        pairs = np.stack([table[:, by_depth].T for table in (dataset.keys, dataset.values)], axis=-1)  # (n, G, 2)
        inner, roots = pairs[1:, asked_first], pairs[0, : trees.leaves]  # (n − 1, P, 2), (2^r, 2)
        kinds, numbers = np.unique(np.concatenate([inner.reshape(-1, 2), roots]), axis=0, return_inverse=True)
        features = torch.tensor(kinds.T, device=device)
        hops = []
        for layer in range(1, layers - OWN_LAYERS + 1):
            inner, roots = _placed(numbers, trees.permutations, trees.leaves)
            needed = 2 ** (min(trees.radius, layers - layer) + 1) - 2
            kinds, numbers = np.unique(_with_children(inner, roots, needed), axis=0, return_inverse=True)
            hops.append(_hop(kinds, device))
        inner, roots = _placed(numbers, trees.permutations, trees.leaves)
        top = np.empty((2 ** (OWN_LAYERS + 1) - 1, trees.graphs), dtype=np.int64)
        top[0] = np.tile(roots, trees.permutations)
        top[1:] = np.repeat(inner[: len(top) - 1], trees.leaves, axis=1)
        return cls(features, hops, torch.tensor(top, device=device))


def _placed(numbers: np.ndarray, permutations: int, leaves: int) -> tuple[np.ndarray, np.ndarray]:
    """The kinds of all nodes but the roots, (m, P), and those of the roots by their key, (2^r,)."""
    numbers = numbers.reshape(-1)
    return numbers[:-leaves].reshape(-1, permutations), numbers[-leaves:]


def _with_children(inner: np.ndarray, roots: np.ndarray, needed: int) -> np.ndarray:
    """Rows (own, left child's, right child's kind), −1 for none, of the first `needed` nodes and of the roots.

    By depth, the children of node v are 2v + 1 and 2v + 2; `inner` begins with node 1.
    """
    rows = np.full((needed, inner.shape[1], 3), -1, dtype=np.int64)
    rows[:, :, 0] = inner[:needed]
    parents = min(needed, (len(inner) - 2) // 2)
    rows[:parents, :, 1] = inner[2 : 2 + 2 * parents : 2]
    rows[:parents, :, 2] = inner[3 : 3 + 2 * parents : 2]
    of_roots = np.stack([roots, *(np.full_like(roots, inner[child, 0]) for child in (0, 1))], axis=1)
    return np.concatenate([rows.reshape(-1, 3), of_roots])


def _hop(kinds: np.ndarray, device: torch.device) -> Hop:
    """The layer of rows (own, left, right): every target once, then every kind that is a child of one."""
    children, targets = kinds[:, 1:].T.reshape(-1), np.tile(np.arange(len(kinds)), 2)
    targets, children = targets[children >= 0], children[children >= 0]
    sources, places = np.unique(children, return_inverse=True)
    nodes = len(kinds) + len(sources)
    ends = np.stack([np.append(np.arange(nodes), len(kinds) + places), np.append(np.arange(nodes), targets)])
    graph = dgl.graph(tuple(torch.tensor(ends, device=device)), num_nodes=nodes)
    return Hop(graph, len(kinds), torch.tensor(np.append(kinds[:, 0], sources), device=device))
