"""How much the features may change before the class of a node can."""

from __future__ import annotations

import math

import torch

# Taken off every radius, so that what float64 rounds off cannot matter.
_ROUNDING = 1e-9


def margins(logits: torch.Tensor) -> torch.Tensor:
    """By how much the best class of every node leads the next, (N, C) → (N,)."""
    best, second = logits.topk(2, dim=1).values.unbind(1)
    return best - second


def certified_radii(margin: torch.Tensor, log10_bound: float) -> torch.Tensor:
    """r_i = margin_i / (√2 L): no change of the features shorter than r_i takes its class from node i.

    The difference of two logits of a node changes by at most √2 times the length of the change of all logits, and that
    is at most L times the change of the features, in the Frobenius norm. Through logarithms, because L may be more than
    a number can hold. An infinite L certifies nothing, r_i = 0; with L = 0 a margin is for ever, r_i = ∞.

    Parameters
    ----------
    margin : (N,), float64.
    log10_bound : log10 L.
    """
    if log10_bound == math.inf:
        return torch.zeros_like(margin)
    radii = (1 - _ROUNDING) * 10 ** (margin.log10() - math.log10(2) / 2 - log10_bound)
    return torch.where(margin > 0, radii, 0.0)
