"""Models that are new, which is as good as trained where predictions are compared and not scored."""

import dataclasses

import numpy as np
import pytest

from lipgnn.datasets import read
from lipgnn.runtime import seed_all
from lipgnn.tasks import find_task
from lipgnn.tasks.saved import SavedModel


@pytest.fixture
def model_of(small_spec, load_for):
    """A model of a run like the small one, and its data: model_of(layers=3) -> SavedModel, Dataset."""

    def make(**changes):
        spec = small_spec.with_values(**{"norm": "lip", **changes})
        data = load_for(spec)
        seed_all(0)
        network = find_task(data.task).network(spec, *data.shape).eval()
        about = (data.fingerprint, data.task, data.shape, data.class_names, getattr(data, "statistics", None))
        return SavedModel(network, spec, *about), data

    return make


@pytest.fixture
def unlabelled():
    """The planted partition without labels and splits, its nodes in another order and with names of their own."""
    source = read("planted")
    order = np.random.RandomState(0).permutation(source.num_nodes)
    place = np.argsort(order)
    return dataclasses.replace(
        source,
        name="new",
        edges=place[source.edges],
        features=source.features[order],
        labels=np.full(source.num_nodes, -1),
        splits={},
        node_ids=np.array([f"node {number}" for number in order]),
    )
