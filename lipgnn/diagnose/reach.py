"""How far a network looks, as a diagnosis says it."""

from __future__ import annotations

import math
from typing import Any

from lipgnn.measures.reach import Reach


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
