"""Where the one true target stands among all nodes, by the mass that a walk brings there."""

from __future__ import annotations

import torch

EULER = 0.5772156649015329


def mass_by_node(mass: torch.Tensor, window: torch.Tensor, nodes: torch.Tensor, shape: tuple[int, int]) -> torch.Tensor:
    """The mass of pairs (window, node) as a matrix (B, N); nodes that no pair is of have none."""
    return mass.new_zeros(shape).index_put((window, nodes), mass)


def harmonic_ranks(mass: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """H_r = 1 + 1/2 + … + 1/r of the rank r of every window's target, (B,) in double precision; 1 is the best.

    Of nodes with equal mass each has the mean of their ranks, which may lie between two whole numbers: there
    H_r = ψ(r + 1) + γ, with the digamma function ψ and Euler's constant γ, goes on between them. (Cordonnier & Loukas,
    IJCAI 2019, and their code, which rounds the mean rank down.)

    Parameters
    ----------
    mass : (B, N)
    target : (B,), a node for every window.
    """
    own = mass.gather(1, target[:, None])
    above, level = (mass > own).sum(1), (mass == own).sum(1)
    rank = above.double() + (level.double() + 1) / 2
    return torch.special.digamma(rank + 1) + EULER


def pairwise_credits(mass: torch.Tensor, target: torch.Tensor, rivals: torch.Tensor) -> torch.Tensor:
    """The share of every window's rivals that have less mass than its target, (B,) in double precision.

    A rival with equal mass counts one half, the mean of breaking ties at random. NaN where there is no rival.

    Parameters
    ----------
    mass, target : as in `harmonic_ranks`.
    rivals : (B, N) bool; the target itself is none, whatever is said of it.
    """
    own = mass.gather(1, target[:, None])
    rivals = rivals.scatter(1, target[:, None], False)
    credit = ((mass < own).double() + (mass == own).double() / 2) * rivals
    return credit.sum(1) / rivals.sum(1)
