"""What layers and networks do to small changes at the data itself: the largest singular value of their Jacobians."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch

from lipgnn.certify.perturbation import exact_copy
from lipgnn.models import DeepGNN
from lipgnn.runtime import dgl

ITERATIONS = 20
# An iteration that adds less than this share is the last one.
_GAIN = 0.005
# Of the length of the input: balances the third derivative against the rounding of float64.
_STEP = 1e-6


def largest_stretch(
    function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, iterations: int = ITERATIONS
) -> float:
    """The largest singular value of the Jacobian J of `function` at x, approached from below.

        v = Jᵀu / ‖Jᵀu‖,   u = Jv / ‖Jv‖,   largest ‖Jᵀu‖ so far

    Jᵀu comes by reverse mode and is exact. Jv only turns u and is a central difference: DGL has no forward mode, and
    fused kernels can be differentiated once.

    Parameters
    ----------
    x : in float64.

    Returns
    -------
    a lower bound of ‖J‖₂; infinite where it overflows.
    """
    x = x.detach().requires_grad_()
    step = _STEP * (torch.linalg.vector_norm(x.detach()).item() or 1.0)
    u, largest = None, 0.0
    for _ in range(iterations):
        with torch.enable_grad():
            # Anew every time, because activations that were recomputed once cannot be again.
            y = function(x)
        u = _random_like(y) if u is None else u
        (back,) = torch.autograd.grad(y, x, u / torch.linalg.vector_norm(u))
        stretch = torch.linalg.vector_norm(back).item()
        if not math.isfinite(stretch):
            return math.inf
        former, largest = largest, max(largest, stretch)
        if largest <= (1 + _GAIN) * former:
            break
        v = back * (step / stretch)
        with torch.no_grad():
            u = function(x + v) - function(x - v)
        if not u.any():
            break
    return largest


def _random_like(y: torch.Tensor) -> torch.Tensor:
    """A direction that leaves nothing out, always the same."""
    draws = torch.Generator(device="cpu").manual_seed(0)
    return torch.randn(y.shape, generator=draws, dtype=y.dtype, device="cpu").to(y.device)


def empirical_bounds(
    network: DeepGNN, graph: dgl.DGLGraph, features: torch.Tensor, iterations: int = ITERATIONS
) -> list[float]:
    """For every block, how much it stretches small changes of its input at these features, in evaluation mode.

    Parameters
    ----------
    features : (N, F), sparse or dense.
    iterations : at most; every one is a gradient and two evaluations of the block.
    """
    network = exact_copy(network)
    found = []
    x = network.encoder(features.double())
    start = x if network.needs_start else None
    for block in network.blocks:
        found.append(largest_stretch(partial(network.run, [block], graph, start=start), x, iterations))
        x = network.run([block], graph, x, start)
    return found
