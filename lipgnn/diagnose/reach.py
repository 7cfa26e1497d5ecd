"""How far a network looks, on the data that it is diagnosed on."""

from __future__ import annotations

import math
from typing import Any

import torch

from lipgnn.diagnose.data import WholeData
from lipgnn.measures.reach import Reach, choose_targets, reach
from lipgnn.network.deep import DeepGNN


def look_far(network: DeepGNN, data: WholeData, targets: int) -> Reach:
    """The shares of all distances in the outputs of some items, drawn with a fixed seed.

    Each takes one way back for every class. The network is left as it was but for its mode, evaluation.
    """
    network.eval()
    h, logits = network.from_encoder(data.graph, data.features)
    candidates = data.batch.of_items(torch.arange(len(h), device=h.device))
    return reach(data.graph, h, logits, choose_targets(candidates, targets), network.hops)


def numbers_of(found: Reach) -> dict[str, Any]:
    """As plain values; None where a number is not finite."""
    columns = {"share": found.shares, "walk": found.walk, "nodes": found.nodes}
    return {
        "targets": found.targets,
        "mean_distance": _number(found.mean_distance),
        "walk_distance": _number(found.walk_distance),
        "beyond": _number(found.beyond),
        "distances": [
            {"distance": distance, **{name: _number(values[distance]) for name, values in columns.items()}}
            for distance in range(len(found.shares))
        ],
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
