"""Activations by name, and how steep they are."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import nn

from lipgnn.norms.bound import Bound

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "elu": nn.ELU,
    "relu": nn.ReLU,
    "leaky-relu": lambda: nn.LeakyReLU(0.2),
    "gelu": nn.GELU,
    "tanh": nn.Tanh,
    "none": nn.Identity,
}

# The slope of GELU, Φ(x) + xφ(x), has the derivative (2 − x²) φ(x): it is largest at √2.
GELU_SLOPE = (1 + math.erf(1)) / 2 + math.exp(-1) / math.sqrt(math.pi)

_SLOPES: dict[type, Callable[[nn.Module], float]] = {
    nn.Identity: lambda activation: 1.0,
    nn.ReLU: lambda activation: 1.0,
    nn.Tanh: lambda activation: 1.0,
    nn.ELU: lambda activation: max(1.0, abs(activation.alpha)),
    nn.LeakyReLU: lambda activation: max(1.0, abs(activation.negative_slope)),
    nn.GELU: lambda activation: GELU_SLOPE,
}


def largest_slope(activation: Callable[[torch.Tensor], torch.Tensor] | None) -> Bound:
    """The largest slope of an activation, by its exact kind; of others none is known."""
    if activation is None:
        return Bound(1.0)
    if type(activation) not in _SLOPES:
        name = getattr(activation, "__name__", type(activation).__name__)
        return Bound.unknown(f"the largest slope of the activation {name} is not known: use --activation elu")
    return Bound(_SLOPES[type(activation)](activation))
