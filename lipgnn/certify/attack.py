"""The search for small changes of the features that change the class of a node."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from lipgnn.certify.perturbation import PerturbedNetwork

STEPS = 5
# How far beyond their radius nodes are attacked, and how many of them.
MULTIPLES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
MOST_BEYOND = 20


class Target(NamedTuple):
    """A node, the class it has, and how far that is certified."""

    node: int
    own: int
    radius: float


def attack(
    perturbed: PerturbedNetwork, targets: Sequence[Target], tries: int, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Attack certified nodes within their radii, and some of them beyond, farther and farther until they flip.

    Parameters
    ----------
    targets : of which those whose radius is 0 or infinite are left alone.
    tries : attacks within the radius, in an order of chance and over again where there are fewer targets.
    progress : told what is being done.

    Returns
    -------
    `tries` that were made, how many `flipped`, and for all `multiples` of the radius how many of the `tried` flipped.
    """
    draws = torch.Generator(device="cpu").manual_seed(0)
    certified = [target for target in targets if 0 < target.radius < math.inf]
    order = [certified[k] for k in torch.randperm(len(certified), generator=draws, device="cpu").tolist()]
    tries = tries if order else 0
    flipped = 0
    for done in range(tries):
        progress(f"Attack {done + 1} of {tries}, {flipped} flipped …")
        flipped += flips(perturbed, order[done % len(order)], draws)
    standing = order[: min(tries, MOST_BEYOND)]
    tried, multiples = len(standing), []
    for multiple in MULTIPLES:
        if not standing:
            break
        progress(f"Attacks at {multiple} times the radius …")
        farther = (target._replace(radius=multiple * target.radius) for target in standing)
        fallen = [flips(perturbed, target, draws) for target in farther]
        standing = [target for target, fell in zip(standing, fallen, strict=True) if not fell]
        multiples.append({"multiple": multiple, "tried": tried, "flipped": tried - len(standing)})
    return {"tries": tries, "flipped": flipped, "multiples": multiples}


def flips(perturbed: PerturbedNetwork, target: Target, draws: torch.Generator) -> bool:
    """Whether a perturbation is found, no longer than the radius, under which another class leads at the node.

    Projected gradient descent on the margin: from a random point of the sphere, every step is as long as the radius,
    and the ball is returned to. All features of all nodes may change; the length is that of all changes together.

    Reference: Madry et al., "Towards Deep Learning Models Resistant to Adversarial Attacks", ICLR 2018.

    Parameters
    ----------
    draws : where the random point comes from; on the CPU.
    """
    node, own, radius = target
    origin = perturbed.origin
    start = torch.randn(origin.shape, generator=draws, dtype=origin.dtype, device="cpu").to(origin.device)
    b = _within(radius, start * (radius / torch.linalg.vector_norm(start)))
    for _ in range(STEPS):
        b.requires_grad_()
        with torch.enable_grad():
            lead = _lead(perturbed(b)[node], own)
        (gradient,) = torch.autograd.grad(lead, b)
        length = torch.linalg.vector_norm(gradient)
        if lead < 0 or not 0 < length < torch.inf:
            return bool(lead < 0)
        b = _within(radius, b.detach() - gradient * (radius / length))
    with torch.no_grad():
        return bool(_lead(perturbed(b)[node], own) < 0)


def _lead(logits: torch.Tensor, own: int) -> torch.Tensor:
    """By how much the own class leads the best of the others, (C,) → ()."""
    others = torch.arange(len(logits), device=logits.device) != own
    return logits[own] - logits[others].amax()


def _within(radius: float, b: torch.Tensor) -> torch.Tensor:
    """The point of the ball that is nearest to b."""
    length = torch.linalg.vector_norm(b).item()
    return b * (radius / length) if length > radius else b
