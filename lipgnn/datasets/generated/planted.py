"""A small planted partition: four communities, noisy features, for tests and demonstrations.

Nodes of one class are linked more often than nodes of two, and every class has its own mean feature vector
under strong noise: neither the graph nor the features alone give the classes away.
"""

from __future__ import annotations

import numpy as np

from lipgnn.datasets.source import Source
from lipgnn.datasets.splits import random_split

NUM_CLASSES, CLASS_SIZE, NUM_FEATURES = 4, 100, 32
TRAIN_PER_CLASS, VAL_PER_CLASS = 20, 25
INNER_DEGREE, OUTER_DEGREE = 5.0, 2.0
SIGNAL = 0.3
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
    return Source(
        name="planted",
        edges=edges.astype(np.int64),
        directed=False,
        features=noisy_features(draw, labels, SIGNAL),
        labels=labels.astype(np.int64),
        splits={"public": random_split(labels, SEED, TRAIN_PER_CLASS, VAL_PER_CLASS)},
        origin="planted",
    )


def noisy_features(draw: np.random.RandomState, labels: np.ndarray, signal: float) -> np.ndarray:
    """Features, (N, NUM_FEATURES): the mean of a node's class times `signal`, plus standard normal noise."""
    means = draw.standard_normal((NUM_CLASSES, NUM_FEATURES))
    features = signal * means[labels] + draw.standard_normal((len(labels), NUM_FEATURES))
    # Rounded, so that the last bit of a machine's logarithm does not make another data set.
    return features.round(4).astype(np.float32)
