"""Graphs to measure on: power-law graphs of any size, or the graph of any data set. No torch before it is asked for.

Real graphs have hubs, and hubs decide what attention costs: every kernel deals out its work by nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lipgnn.datasets import Dataset, Source, load, read
from lipgnn.datasets.prepare import prepare_edges
from lipgnn.datasets.source import Split
from lipgnn.errors import UsageError

if TYPE_CHECKING:
    from lipgnn.spec.run import RunSpec

GENERATED = "power-law"
# Shares of nodes by degree fall with this power. With 170 000 nodes and 2.5 million edges the largest hub then has
# some 13 000 neighbours, as in ogbn-arxiv.
EXPONENT = 2.5
# A larger share of all pairs leaves hubs no neighbour to choose: nothing of the power law would be left.
MOST_PAIRS = 0.25
# As ogbn-arxiv has them.
FEATURES, CLASSES = 128, 40


class Topology(NamedTuple):
    """A graph without anything on it.

    Attributes
    ----------
    edges : (2, E) int64, each edge once, one self-loop a node, ordered by target and source.
    """

    name: str
    num_nodes: int
    edges: np.ndarray


@dataclass(frozen=True)
class GraphChoice:
    """Which graph to measure on; plain values, so that a process can tell them to another.

    Attributes
    ----------
    dataset : name or path of a data set, `:undirected` may follow; None generates a graph.
    nodes, edges : of the generated graph; edges count both directions and one self-loop a node.
    """

    dataset: str | None = None
    nodes: int = 0
    edges: int = 0

    def topology(self) -> Topology:
        """Nodes and edges, read or generated.

        Raises
        ------
        UsageError : an unknown data set, or a number of edges that cannot be.
        DataError : data that is missing or damaged.
        """
        if self.dataset is None:
            return Topology(GENERATED, self.nodes, power_law(self.nodes, self.edges))
        source = read(self.dataset)
        return Topology(source.name, source.num_nodes, prepare_edges(source))

    def training_data(self, spec: RunSpec) -> Dataset:
        """What a run trains on; made up where there are no features. Raises as `topology`."""
        if self.dataset is None or not read(self.dataset).num_features:
            return made_up(self.topology())
        return load(self.dataset, split=spec.split, features=spec.features)


def power_law(num_nodes: int, num_edges: int, seed: int = 0) -> np.ndarray:
    """Edges of a random undirected graph whose degrees follow a power law, with self-loops.

    Both ends of an edge are drawn with probabilities ∝ rank^{-1/(γ-1)}, γ = `EXPONENT`; pairs that come twice are
    drawn again, and ranks are dealt to the nodes at random (Chung & Lu 2002).

    Parameters
    ----------
    num_edges : with both directions and one self-loop a node; one less is made where parity demands it.

    Returns
    -------
    (2, E) int64, ordered by target and source.

    Raises
    ------
    UsageError : fewer edges than self-loops, or too many for so few nodes.
    """
    pairs = (num_edges - num_nodes) // 2
    most = int(MOST_PAIRS * num_nodes * (num_nodes - 1) / 2)
    if num_nodes < 1 or not 0 <= pairs <= most:
        raise UsageError(
            f"A power-law graph with {num_nodes} nodes cannot have {num_edges} edges.",
            f"They count one self-loop a node and both directions: at least {num_nodes}, "
            f"at most {num_nodes + 2 * most}.",
        )
    # RandomState's stream is frozen by numpy's compatibility policy; default_rng's may change between versions.
    draw = np.random.RandomState(seed)
    low, high = np.divmod(_distinct_pairs(draw, num_nodes, pairs), num_nodes)
    name = draw.permutation(num_nodes)
    low, high, loops = name[low], name[high], np.arange(num_nodes)
    sources, targets = np.concatenate([low, high, loops]), np.concatenate([high, low, loops])
    order = np.argsort(targets * num_nodes + sources)
    return np.stack([sources[order], targets[order]])


def _distinct_pairs(draw: np.random.RandomState, num_nodes: int, count: int) -> np.ndarray:
    """So many pairs of ranks low < high, each written as low · N + high."""
    weights = np.arange(1, num_nodes + 1) ** (-1 / (EXPONENT - 1))
    cumulative = np.cumsum(weights) / weights.sum()
    found = np.empty(0, dtype=np.int64)
    while len(found) < count:
        wanted = int(1.2 * (count - len(found))) + 16
        ends = np.searchsorted(cumulative, draw.random_sample((2, wanted)))
        low, high = ends.min(axis=0), np.minimum(ends.max(axis=0), num_nodes - 1)
        found = np.union1d(found, (low * num_nodes + high)[low < high])
    # Sorted by rank as they are, the surplus must not be taken from one end.
    return draw.permutation(found)[:count]


def made_up(topology: Topology) -> Dataset:
    """A data set on a graph: features and labels out of a hat, half of the nodes to train on."""
    draw = np.random.RandomState(0)
    nodes = topology.num_nodes
    features = draw.standard_normal((nodes, FEATURES)).astype(np.float32)
    labels = draw.randint(CLASSES, size=nodes)
    # The last class must occur, since the labels say how many there are.
    labels[0] = CLASSES - 1
    part = np.arange(nodes) % 4
    split = Split(part < 2, part == 2, part == 3)
    source = Source(topology.name, topology.edges, True, features, labels, {"public": split})
    return Dataset(source, topology.edges, features, split, fingerprint="made-up")
