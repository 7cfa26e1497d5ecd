"""Ranks by scipy, and shares by loops."""

import math

import pytest
import torch
from scipy.stats import rankdata

from lipgnn.walks.standing import harmonic_ranks, mass_by_node, pairwise_credits


@pytest.fixture
def mass():
    """Many ties: seven windows of nine nodes with masses among four values."""
    return torch.randint(4, (7, 9), generator=torch.Generator().manual_seed(0)).double() / 8


@pytest.fixture
def target():
    return torch.arange(7) % 9


def test_a_rank_without_ties_has_its_harmonic_number():
    mass = torch.tensor([[0.1, 0.4, 0.3, 0.2]]).expand(4, 4)
    found = harmonic_ranks(mass, torch.arange(4))
    assert found.tolist() == pytest.approx([1 + 1 / 2 + 1 / 3 + 1 / 4, 1, 1 + 1 / 2, 1 + 1 / 2 + 1 / 3])


def test_ties_share_the_mean_of_their_ranks(mass, target):
    found = harmonic_ranks(mass, target)
    for window, node in enumerate(target.tolist()):
        rank = rankdata(-mass[window].numpy(), method="average")[node]
        # H_x = ∫ (1 − t^x) / (1 − t) dt over [0, 1], Euler's formula, by the midpoint rule.
        steps = 20000
        places = ((k + 0.5) / steps for k in range(steps))
        assert found[window] == pytest.approx(math.fsum((1 - t**rank) / (1 - t) for t in places) / steps, abs=1e-3)


def test_a_target_that_nobody_comes_to_is_among_all_nodes_without_mass():
    mass = mass_by_node(torch.tensor([0.7, 0.3]), torch.tensor([0, 0]), torch.tensor([4, 1]), (1, 7))
    assert mass.tolist() == [pytest.approx([0, 0.3, 0, 0, 0.7, 0, 0])]
    # The five others have the ranks 3 to 7.
    assert harmonic_ranks(mass, torch.tensor([0])).item() == pytest.approx(sum(1 / k for k in range(1, 6)))


def test_a_rival_with_less_mass_counts_one_and_a_tie_one_half(mass, target):
    rivals = torch.rand(7, 9, generator=torch.Generator().manual_seed(1)) < 0.6
    rivals[3] = False
    rivals[3, target[3]] = True
    found = pairwise_credits(mass, target, rivals).tolist()
    for window, node in enumerate(target.tolist()):
        others = [mass[window, n].item() for n in range(9) if rivals[window, n] and n != node]
        own = mass[window, node].item()
        if others:
            credit = sum(1 if other < own else 0.5 if other == own else 0 for other in others)
            assert found[window] == pytest.approx(credit / len(others))
        else:
            assert window == 3 and math.isnan(found[window])
