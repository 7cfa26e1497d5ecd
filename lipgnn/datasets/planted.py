"""A small planted partition: four communities, noisy features, for tests and demonstrations.

Nodes of one class are linked more often than nodes of two, and every class has its own mean feature vector
under strong noise: neither the graph nor the features alone give the classes away.
"""

from __future__ import annotations

import numpy as np

from lipgnn.datasets.source import Source, Split

NAME = "planted"
NUM_CLASSES, CLASS_SIZE, NUM_FEATURES = 4, 100, 32
TRAIN_PER_CLASS, NUM_VALIDATION = 20, 100
INNER_DEGREE, OUTER_DEGREE = 4.0, 2.0
SIGNAL = 0.25
SEED = 2021


def generate() -> Source:
    """The planted partition; every call and every machine gives the same one."""
    # RandomState's stream is frozen by numpy's compatibility policy; default_rng's may change between versions.
    draw = np.random.RandomState(SEED)
    labels = np.repeat(np.arange(NUM_CLASSES), CLASS_SIZE)
    num_nodes = len(labels)

    same = labels[:, None] == labels
    inner, outer = INNER_DEGREE / CLASS_SIZE, OUTER_DEGREE / (num_nodes - CLASS_SIZE)
    linked = draw.random_sample((num_nodes, num_nodes)) < np.where(same, inner, outer)
    edges = np.stack(np.nonzero(np.triu(linked, k=1)))

    means = draw.standard_normal((NUM_CLASSES, NUM_FEATURES))
    features = SIGNAL * means[labels] + draw.standard_normal((num_nodes, NUM_FEATURES))

    order = draw.permutation(num_nodes)
    rank = np.empty(num_nodes, dtype=np.int64)
    for label in range(NUM_CLASSES):
        members = order[labels[order] == label]
        rank[members] = np.arange(CLASS_SIZE)
    train = np.flatnonzero(rank < TRAIN_PER_CLASS)
    rest = order[rank[order] >= TRAIN_PER_CLASS]
    return Source(
        name=NAME,
        edges=edges.astype(np.int64),
        directed=False,
        features=features.astype(np.float32),
        labels=labels.astype(np.int64),
        splits={"public": Split.of_indices(num_nodes, train, rest[:NUM_VALIDATION], rest[NUM_VALIDATION:])},
        origin=NAME,
    )
