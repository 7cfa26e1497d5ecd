"""Walks by hand: plain Python that goes through every path one by one, independent of the code under test."""

from __future__ import annotations

import math
import random

import torch

from lipgnn.walks import WalkGraph

# Four nodes; edges both ways and one way, a self-loop, a street that ends (3 leads back to 2 alone).
FOUR = [(0, 1), (1, 0), (1, 2), (2, 1), (2, 0), (2, 3), (3, 2), (0, 0)]
# A dead end with the self-loop that it is given, and a repeated edge.
DEAD_END = [(0, 1), (1, 0), (0, 2), (0, 2), (1, 2), (2, 2)]


def random_edges(seed, nodes, count):
    """Any edges, self-loops and repetitions among them; every node has one out-edge at least."""
    draw = random.Random(seed)
    edges = [(node, draw.randrange(nodes)) for node in range(nodes)]
    edges += [(draw.randrange(nodes), draw.randrange(nodes)) for _ in range(count)]
    draw.shuffle(edges)
    return edges


def make(edges, nodes, horizon=0):
    """The graph of these edges as one window."""
    sources, targets = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T.contiguous()
    return WalkGraph.of_one_window(sources, targets, nodes, horizon)


def draw_logits(seed, count, dtype=torch.float64, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(count, dtype=dtype, generator=generator)


def following(edges, before, kind):
    """The edges that may come after edge number `before`."""
    tail, head = edges[before]
    out = [number for number, (source, _) in enumerate(edges) if source == head]
    if kind == "plain":
        return out
    return [number for number in out if edges[number][1] != tail] or [before]


def shares(logits, options):
    """The softmax over some edges."""
    top = max(logits[option] for option in options)
    values = [math.exp(logits[option] - top) for option in options]
    return [value / sum(values) for value in values]


def all_paths(edges, logits, node, steps, kind):
    """Every path of so many steps from a node, with its probability: [(edges, probability)]."""
    paths = [((), 1.0)]
    for _ in range(steps):
        longer = []
        for path, probability in paths:
            if path:
                options = following(edges, path[-1], kind)
            else:
                options = [number for number, (source, _) in enumerate(edges) if source == node]
            longer += [
                ((*path, option), probability * share)
                for option, share in zip(options, shares(logits, options), strict=True)
            ]
        paths = longer
    return paths


def ends(edges, logits, start, steps, kind):
    """Mass on every node after so many steps, by adding up every path."""
    mass = [0.0] * len(start)
    for node, share in enumerate(start):
        for path, probability in all_paths(edges, logits, node, steps, kind):
            mass[edges[path[-1]][1] if path else node] += share * probability
    return mass
