"""Every node linked to every other: where pure attention is free to make all rows one, for studies of rank collapse.

Four classes with noisy features, as `planted` has them; the graph says nothing of the classes.
"""

from __future__ import annotations

import numpy as np

from lipgnn.datasets.generated.planted import NUM_CLASSES, noisy_features
from lipgnn.datasets.source import Source
from lipgnn.datasets.splits import random_split

CLASS_SIZE = 50
TRAIN_PER_CLASS, VAL_PER_CLASS = 15, 15
SIGNAL = 0.6
SEED = 2021


def generate() -> Source:
    """The complete graph on 200 nodes; every call and every machine gives the same one."""
    # RandomState's stream is frozen by numpy's compatibility policy; default_rng's may change between versions.
    draw = np.random.RandomState(SEED)
    labels = np.repeat(np.arange(NUM_CLASSES), CLASS_SIZE)
    return Source(
        name="complete",
        edges=np.stack(np.triu_indices(len(labels), k=1)).astype(np.int64),
        directed=False,
        features=noisy_features(draw, labels, SIGNAL),
        labels=labels.astype(np.int64),
        splits={"public": random_split(labels, SEED, TRAIN_PER_CLASS, VAL_PER_CLASS)},
        origin="complete",
    )
