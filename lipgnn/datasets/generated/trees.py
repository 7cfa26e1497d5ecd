"""NeighborsMatch: many small trees of one shape, whose root must learn the value of the leaf that has its key.

Every graph is a full binary tree of depth r with edges from child to parent and a self-loop a node. Its 2^r leaves
have the keys 1..2^r from left to right, and a permutation π of 1..2^r as values; its root has a key k and no value;
all other nodes have neither. The label is π(k). There is a graph for every permutation that was drawn and every k.

Reference: Alon & Yahav, "On the Bottleneck of Graph Neural Networks and its Practical Implications", ICLR 2021,
section 4.1 and their code.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lipgnn.datasets.source import Split
from lipgnn.datasets.splits import only_as_it_is
from lipgnn.errors import UsageError

SEED = 11
FAMILY = "trees"
RADII = range(2, 9)

_NAME = re.compile(rf"{FAMILY}:(\d{{1,9}})(?::(\d{{1,9}}))?", re.ASCII)
_MOST_PERMUTATIONS, _MOST_GRAPHS = 1000, 32000


@dataclass(frozen=True)
class Trees:
    """The trees of one radius.

    Attributes
    ----------
    radius : the depth r of the trees, from the root to a leaf.
    permutations : how many assignments of values to the 2^r leaves there are; each is asked for every key.
    """

    radius: int
    permutations: int

    @property
    def leaves(self) -> int:
        return 2**self.radius

    @property
    def nodes(self) -> int:
        return 2 * self.leaves - 1

    @property
    def graphs(self) -> int:
        return self.permutations * self.leaves


def parse_trees(name: str) -> Trees:
    """What `trees:R` or `trees:R:PERMUTATIONS` asks for; without a number, the protocol's permutations.

    Raises
    ------
    UsageError : another form, a radius outside 2..8, or more permutations than there are.
    """
    match = _NAME.fullmatch(name)
    if not match or int(match[1]) not in RADII:
        raise UsageError(
            f"{name!r} asks for trees of radius {int(match[1])}." if match else f"{name!r} is no data set of trees.",
            f"Write {FAMILY}:R with R from {RADII[0]} to {RADII[-1]}, or {FAMILY}:R:PERMUTATIONS for fewer than the "
            "protocol has.",
        )
    radius = int(match[1])
    most = math.factorial(2**radius) if radius <= 3 else math.inf
    protocol = min(_MOST_PERMUTATIONS, most if radius <= 3 else _MOST_GRAPHS // 2**radius)
    permutations = int(match[2]) if match[2] else protocol
    if not 2 <= permutations <= min(most, _MOST_GRAPHS):
        raise UsageError(
            f"{name!r} asks for {permutations} permutations of {2**radius} values.",
            f"Ask for 2 to {min(most, _MOST_GRAPHS)}; without a number there are {protocol}.",
        )
    return Trees(radius, permutations)


@dataclass(frozen=True, eq=False)
class TreeDataset:
    """All graphs of one radius; graph p·2^r + k − 1 asks for key k in permutation p.

    Attributes
    ----------
    name : as it was asked for.
    trees : radius and number of permutations.
    edges : (2, E) int64 of one tree, ordered by target and source; node 0 is the root, in depth-first pre-order.
    depths : (n,) int64, that of every node.
    permutations : (P, 2^r) int64, the values of the leaves from left to right.
    split : four fifths of the graphs of every label are for training. The others are test and validation at once:
        the protocol selects by training accuracy and looks at no other.
    """

    name: str
    trees: Trees
    edges: np.ndarray
    depths: np.ndarray
    permutations: np.ndarray
    split: Split

    task = FAMILY

    @property
    def num_features(self) -> int:
        """How many keys, and values, there are; 0 is none."""
        return self.trees.leaves + 1

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of keys and of values, for which a network is made."""
        return self.num_features, self.num_classes

    @property
    def num_classes(self) -> int:
        """As many as values; 0 is never right."""
        return self.trees.leaves + 1

    @property
    def class_names(self) -> None:
        return None

    @property
    def labels_array(self) -> np.ndarray:
        """(G,) int64."""
        return self.permutations.reshape(-1)

    @property
    def keys(self) -> np.ndarray:
        """(G, n) int32, of every node of every graph."""
        leaves = self.trees.leaves
        keys = np.zeros((self.trees.graphs, self.trees.nodes), dtype=np.int32)
        keys[:, self.depths == self.trees.radius] = np.arange(1, leaves + 1)
        keys[:, 0] = np.tile(np.arange(1, leaves + 1), self.trees.permutations)
        return keys

    @property
    def values(self) -> np.ndarray:
        """(G, n) int32, of every node of every graph."""
        values = np.zeros((self.trees.graphs, self.trees.nodes), dtype=np.int32)
        values[:, self.depths == self.trees.radius] = np.repeat(self.permutations, self.trees.leaves, axis=0)
        return values

    @cached_property
    def fingerprint(self) -> str:
        """16 hex digits of the tree, the permutations and the split, from which all else follows."""
        digest = hashlib.sha256(b"lipgnn-trees-1")
        for array in (self.edges, self.permutations, self.split.train):
            digest.update(f";{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:16]


def load_trees(name: str, *, split: str = "public", missing: float = 0.0, features: str = "raw") -> TreeDataset:
    """Make the trees called `name`; every call and every machine makes the same.

    Raises
    ------
    UsageError : no such trees, or options that trees do not have.
    """
    trees = parse_trees(name)
    only_as_it_is(name, split=split, missing=missing, features=features)
    edges, depths = one_tree(trees.radius)
    # RandomState's stream is frozen by numpy's compatibility policy; default_rng's may change between versions.
    draw = np.random.RandomState(SEED)
    permutations = _permutations(trees, draw)
    return TreeDataset(name, trees, edges, depths, permutations, _split(permutations.reshape(-1), draw))


def one_tree(radius: int) -> tuple[np.ndarray, np.ndarray]:
    """The edges (2, E) and the depth of every node (n,) of a full binary tree, numbered in depth-first pre-order.

    A subtree with the numbers c..M has its root at c, its left half from c + 1 on, its right half from
    c + 1 + ⌊(M − c) / 2⌋.
    """
    nodes = 2 ** (radius + 1) - 1
    depths = np.zeros(nodes, dtype=np.int64)
    edges = [(node, node) for node in range(nodes)]

    def grow(first: int, last: int) -> None:
        if first == last:
            return
        middle = first + 1 + (last - first) // 2
        for child, end in ((first + 1, middle - 1), (middle, last)):
            depths[child] = depths[first] + 1
            edges.append((child, first))
            grow(child, end)

    grow(0, nodes - 1)
    return np.array(sorted(edges, key=lambda edge: edge[::-1]), dtype=np.int64).T, depths


def _permutations(trees: Trees, draw: np.random.RandomState) -> np.ndarray:
    """Permutations of 1..2^r, all different where r ≤ 3; beyond, two of them will hardly ever be the same."""
    if trees.radius > 3:
        return np.stack([draw.permutation(trees.leaves) + 1 for _ in range(trees.permutations)]).astype(np.int64)
    every = np.array(list(itertools.permutations(range(1, trees.leaves + 1))), dtype=np.int64)
    return every[draw.permutation(len(every))[: trees.permutations]]


def _split(labels: np.ndarray, draw: np.random.RandomState) -> Split:
    """A fifth of every label, rounded up, is left out of the training."""
    train = np.ones(len(labels), dtype=bool)
    for label in np.unique(labels):
        graphs = draw.permutation(np.flatnonzero(labels == label))
        train[graphs[: -(-len(graphs) // 5)]] = False
    return Split(train, ~train, ~train)
