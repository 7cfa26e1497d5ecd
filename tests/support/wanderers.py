"""A small data set of trajectories of single nodes, with legs of one to twelve edges, to be gone through by hand."""

import random

import numpy as np

from lipgnn.datasets.trajectories import made

NODES = 12


def wanderers(*, seed=0, trajectories=30, longest=12, single=True):
    """Random walks on a ring of twelve nodes with chords, which never turn back; four legs each."""
    draw = random.Random(seed)
    ring = {(a, (a + step) % NODES) for a in range(NODES) for step in (1, -1)}
    edges = sorted(ring | {(a, (5 * a + 2) % NODES) for a in (0, 3, 7)})
    seen, legs = [], []
    for _ in range(trajectories):
        node, came = draw.randrange(NODES), None
        seen.append(node)
        for _ in range(4):
            leg = []
            for _ in range(draw.randint(1, longest)):
                options = [n for n, (a, b) in enumerate(edges) if a == node and b != came]
                leg.append(draw.choice(options))
                came, node = edges[leg[-1]]
            legs.append(leg)
            seen.append(node)
    beside = np.array([[node, (node + 1) % NODES] for node in seen])
    return made(
        "wanderers",
        node_features=np.arange(NODES, dtype=float)[:, None],
        edges=np.array(edges).T,
        edge_features=np.array([[(b - a) % NODES] for a, b in edges], dtype=float),
        observed_nodes=beside,
        observed_weights=np.tile([1.0, 0.0] if single else [0.75, 0.25], (len(seen), 1)),
        lengths=np.full(trajectories, 5),
        leg_edges=np.array([edge for leg in legs for edge in leg]),
        leg_lengths=np.array([len(leg) for leg in legs]),
    )
