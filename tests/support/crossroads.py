"""A small graph with everything that roads have, and models with random weights for it."""

import numpy as np
import torch

from lipgnn.datasets.trajectories import made
from lipgnn.spec.sources import resolve
from lipgnn.tasks import find_task
from lipgnn.tasks.saved import SavedModel

# Both ways and one way, an edge three times, a self-loop, a street that ends (5 leads back to 2 alone), a dead end (4).
EDGES = [(0, 1), (1, 0), (1, 2), (1, 2), (2, 1), (2, 0), (2, 3), (3, 2), (0, 0), (3, 4), (2, 5), (5, 2), (1, 2)]
WITH_LOOP = [*EDGES, (4, 4)]
NODES = 6


def crossroads(*, places=True):
    """12 trajectories of three observations, each from 0 over 1 to 2 and 3."""
    draw = np.random.RandomState(0)
    lengths = np.full(12, 3)
    return made(
        "crossroads",
        node_features=draw.normal(size=(NODES, 2)),
        edges=np.array(EDGES).T,
        edge_features=draw.normal(size=(len(EDGES), 1)),
        observed_nodes=np.tile([[0, 1], [1, 0], [3, 2]], (12, 1)),
        observed_weights=np.tile([[0.75, 0.25], [1.0, 0.0], [0.5, 0.5]], (12, 1)),
        lengths=lengths,
        leg_edges=np.tile([0, 2, 6], 12),
        leg_lengths=np.tile([1, 2], 12),
        coordinates=np.array([[6.6, 46.5], [6.61, 46.5], [6.62, 46.51], [6.62, 46.52], [6.63, 46.53], [6.6, 46.52]])
        if places
        else None,
    )


def model_for(dataset, *, seed=0, **values):
    """A network with random weights, which are large enough for choices that differ."""
    task = find_task("paths")
    given = {"model": "diffusion", "layers": 3, "observed": 2, "dataset": "planar", "device": "cpu", **values}
    spec = resolve({name: str(value) for name, value in given.items()}, {}).spec
    torch.manual_seed(seed)
    network = task.network(spec, *dataset.shape)
    with torch.no_grad():
        for weights in network.decoder.parameters():
            weights.mul_(3)
    return SavedModel(network.eval(), spec, dataset.fingerprint, "paths", dataset.shape, None)
