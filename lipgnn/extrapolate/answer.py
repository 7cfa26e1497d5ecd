"""What a model says of a prefix: the most probable ends, continuations drawn, and likelihoods, as plain values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lipgnn.extrapolate.prefix import Prefix


@dataclass(frozen=True, eq=False)
class Drawn:
    """A continuation that was drawn.

    Attributes
    ----------
    nodes : S + 1 of them, from the one it starts at.
    edges : S of them; None where the walker stays at the end of a road.
    start_probability : of its first node.
    log_probability : of all else, given the first node.
    """

    nodes: list[int]
    edges: list[int | None]
    start_probability: float
    log_probability: float


@dataclass(frozen=True, eq=False)
class Likelihood:
    """How likely a given continuation is.

    Attributes
    ----------
    nodes : from the one it starts at.
    start_probability : of its first node.
    log_probability : of all else, given the first node; −∞ where no walker takes it.
    """

    nodes: list[int]
    start_probability: float
    log_probability: float


@dataclass(frozen=True, eq=False)
class Extrapolation:
    """What becomes of a prefix.

    Attributes
    ----------
    walk, steps : kind and length of the walks.
    prefix : what was observed.
    ends, probabilities : (n,), the nodes where walkers can be after so many steps, the most probable first and of equal
        ones the lower number, and their probabilities, which sum to 1.
    samples : drawn in this order.
    likelihoods : of the continuations that were asked about.
    true_path : how likely the true path is, along its very edges; None where it is not known.
    target_probability : of the nodes of the true target together.
    """

    walk: str
    steps: int
    prefix: Prefix
    ends: np.ndarray
    probabilities: np.ndarray
    samples: list[Drawn]
    likelihoods: list[Likelihood]
    true_path: Likelihood | None = None
    target_probability: float | None = None

    def to_dict(self, top: int | None = None) -> dict[str, Any]:
        """All of it as JSON has it, of the ends the first `top`."""
        ends = zip(self.ends[:top].tolist(), self.probabilities[:top].tolist(), strict=True)
        return {
            "walk": self.walk,
            "steps": self.steps,
            "origin": self.prefix.origin,
            "prefix": [
                _observation(nodes, weights)
                for nodes, weights in zip(self.prefix.nodes, self.prefix.weights, strict=True)
            ],
            "reached": len(self.ends),
            "ends": [{"node": node, "probability": probability} for node, probability in ends],
            "samples": [{**_path(one), "edges": one.edges} for one in self.samples],
            "likelihoods": [_path(one) for one in self.likelihoods],
            "truth": self._truth(),
        }

    def _truth(self) -> dict[str, Any] | None:
        truth = self.prefix.truth
        if truth is None or self.true_path is None:
            return None
        return {
            **_path(self.true_path),
            "edges": truth.edges.tolist(),
            "target": _observation(truth.target_nodes, truth.target_weights),
            "target_probability": self.target_probability,
        }


def _observation(nodes: np.ndarray, weights: np.ndarray) -> list[dict[str, Any]]:
    pairs = zip(nodes.tolist(), weights.tolist(), strict=True)
    return [{"node": node, "weight": weight} for node, weight in pairs if weight > 0]


def _path(one: Drawn | Likelihood) -> dict[str, Any]:
    """A logarithm that is not finite is None, which JSON can say."""
    possible = math.isfinite(one.log_probability)
    return {
        "nodes": one.nodes,
        "start_probability": one.start_probability,
        "log_probability": one.log_probability if possible else None,
        "probability": math.exp(one.log_probability) if possible else 0.0,
    }
