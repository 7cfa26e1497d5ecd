"""NeighborsMatch: what names such as `trees:4` mean, and the protocol that comes with them; no torch here.

Reference: Alon & Yahav, "On the Bottleneck of Graph Neural Networks and its Practical Implications", ICLR 2021,
section 4.1 and their code.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from lipgnn.errors import UsageError

FAMILY = "trees"
RADII = range(2, 9)

_NAME = re.compile(rf"{FAMILY}:(\d{{1,9}})(?::(\d{{1,9}}))?", re.ASCII)
_MOST_PERMUTATIONS, _MOST_GRAPHS = 1000, 32000
_EVALUATIONS_OF_PATIENCE = 20


@dataclass(frozen=True)
class Trees:
    """The trees of one radius.

    Attributes
    ----------
    radius : the depth r of the trees, from the root to a leaf.
    permutations : how many assignments of values to the 2^r leaves there are; each is asked for every key.
    """

    radius: int
    permutations: int

    @property
    def leaves(self) -> int:
        return 2**self.radius

    @property
    def nodes(self) -> int:
        return 2 * self.leaves - 1

    @property
    def graphs(self) -> int:
        return self.permutations * self.leaves


def is_trees(name: Any) -> bool:
    """Whether `name` asks for trees, rightly or wrongly."""
    return isinstance(name, str) and name.partition(":")[0] == FAMILY


def parse_trees(name: str) -> Trees:
    """What `trees:R` or `trees:R:PERMUTATIONS` asks for; without a number, the protocol's permutations.

    Raises
    ------
    UsageError : another form, a radius outside 2..8, or more permutations than there are.
    """
    match = _NAME.fullmatch(name)
    if not match or int(match[1]) not in RADII:
        raise UsageError(
            f"{name!r} names no trees of a radius from {RADII[0]} to {RADII[-1]}.",
            f"Write {FAMILY}:R, or {FAMILY}:R:PERMUTATIONS for fewer than the protocol has.",
        )
    radius = int(match[1])
    most = math.factorial(2**radius) if radius <= 3 else math.inf
    protocol = min(_MOST_PERMUTATIONS, most if radius <= 3 else _MOST_GRAPHS // 2**radius)
    permutations = int(match[2]) if match[2] else protocol
    if not 2 <= permutations <= min(most, _MOST_GRAPHS):
        raise UsageError(
            f"{name!r} asks for {permutations} permutations of {2**radius} values.",
            f"Ask for 2 to {min(most, _MOST_GRAPHS)}; without a number there are {protocol}.",
        )
    return Trees(radius, permutations)


def protocol(trees: Trees, model: str) -> dict[str, Any]:
    """Options of a run by Alon & Yahav, who fit the training graphs: can the network take in that much at all?

    r + 1 layers of width 32, each x ← norm(x + σ(conv(x))) with LayerNorm, without σ for GAT, and GGNN as it is. Adam
    whose rate is halved after 10 evaluations without a better training accuracy; stop after 20, or at 1.0.

    Two layers are not theirs to the letter: the MLP of GIN ends with its second linear map, where theirs has BatchNorm
    and ReLU once more, and GCN divides by the out-edges of a source, where theirs counts its in-edges.
    """
    radius = trees.radius
    gated = model == "ggnn"
    every = 1000 if radius == 2 else 100
    return {
        "features": "raw",
        "layers": radius + 1,
        "hidden": 8,
        "heads": 4,
        "norm": "none" if gated else "layer",
        "norm_place": "sum",
        "residual": "none" if gated else "identity",
        "activation": "relu" if model in ("gcn", "gin") else "none",
        "dropout": 0.0,
        "lr": 1e-3,
        "weight_decay": 0.0,
        "schedule": "halve",
        "select": "train_score",
        "batch_size": 64 if radius <= 3 else 1024 if radius <= 6 else 2048,
        "eval_every": every,
        "epochs": 50000,
        "patience": _EVALUATIONS_OF_PATIENCE * every,
    }
