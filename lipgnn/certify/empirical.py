"""What layers and networks do to small changes at the data itself: the largest singular value of their Jacobians."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch

from lipgnn.certify.perturbation import exact_copy
from lipgnn.network.deep import DeepGNN
from lipgnn.runtime import dgl

ITERATIONS = 10
# Of the length of the input: balances the third derivative against the rounding of float64.
_STEP = 1e-6
# A direction of which orthogonalization leaves less than this share is no new one.
_NEW = 1e-8


def largest_stretch(
    function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, iterations: int = ITERATIONS
) -> float:
    """The largest singular value of the Jacobian J of `function` at x, approached from below.

    Power iteration u ← J Jᵀu that forgets nothing (Lanczos): the directions are made orthonormal, U = (u₁ … u_k), and
    the answer is the largest singular value of JᵀU. A residual network is near the identity, and what it stretches most
    is a few nodes: there the latest direction alone would take long to turn towards them.

    JᵀU comes by reverse mode and is exact, so the answer is never more than ‖J‖₂. Jv only gives the next direction and
    is a central difference: DGL has no forward mode, and fused kernels can be differentiated once.

    Parameters
    ----------
    x : in float64.
    iterations : directions; each is a gradient and two evaluations.

    Returns
    -------
    a lower bound of ‖J‖₂; infinite where it overflows.
    """
    x = x.detach().requires_grad_()
    step = _STEP * (torch.linalg.vector_norm(x.detach()).item() or 1.0)
    directions: list[torch.Tensor] = []
    pulled: list[torch.Tensor] = []
    largest = 0.0
    while len(directions) < iterations:
        with torch.enable_grad():
            # Anew every time, because activations that were recomputed once cannot be again.
            y = function(x)
        new = _random_like(y) if not directions else _pushed(function, x, pulled[-1], step)
        u = _orthonormal(new.flatten(), directions)
        if u is None:
            break
        (back,) = torch.autograd.grad(y, x, u.view_as(y))
        length = torch.linalg.vector_norm(back).item()
        if not math.isfinite(length):
            return math.inf
        largest = max(largest, length)
        directions.append(u)
        pulled.append(back.flatten())
        if length == 0:
            break
    # In units of the longest, because squares of large numbers are too large.
    matrix = torch.stack(pulled) / (largest or 1.0)  # (k, inputs)
    return largest * torch.linalg.eigvalsh(matrix @ matrix.t())[-1].clamp(min=0).sqrt().item()


def _pushed(
    function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, v: torch.Tensor, step: float
) -> torch.Tensor:
    """Along Jv, by a central difference."""
    change = (v * (step / torch.linalg.vector_norm(v))).view_as(x)
    with torch.no_grad():
        return function(x + change) - function(x - change)


def _orthonormal(u: torch.Tensor, directions: list[torch.Tensor]) -> torch.Tensor | None:
    """The part of u that is orthogonal to the directions, of length 1; None where nothing is left."""
    length = torch.linalg.vector_norm(u)
    # Twice, because the first time leaves rounding errors of the size of what it took away.
    for _ in range(2):
        for direction in directions:
            u = u - (direction @ u) * direction
    left = torch.linalg.vector_norm(u)
    return u / left if left > _NEW * length else None


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
    iterations : of `largest_stretch`.
    """
    network = exact_copy(network)
    found = []
    x = network.encode(features.double()).detach()
    start = x if network.needs_start else None
    for block in network.blocks:
        found.append(largest_stretch(partial(network.run, [block], graph, start=start), x, iterations))
        x = network.run([block], graph, x, start)
    return found
