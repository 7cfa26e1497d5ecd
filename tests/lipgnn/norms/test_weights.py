"""Bounded weights against exact singular values, their gradient against differences, their vectors over training."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from lipgnn.norms import NearIdentity, SpectralBound, advance_all


def by_head(weight, heads):
    return weight.unflatten(0, (heads, -1))


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("limit", [0.25, 1.0, 30.0])
def test_fixed_maps_have_that_length_and_capped_ones_no_more(heads, limit, reference):
    """T5 of the specification of gradient expansion, by exact singular values."""
    weight = reference.normal(0, 6, 5)
    exact = torch.linalg.matrix_norm(by_head(weight, heads), 2)
    fixed, capped = (SpectralBound(weight, limit=limit, fixed=kind, heads=heads)(weight) for kind in (True, False))
    torch.testing.assert_close(torch.linalg.matrix_norm(by_head(fixed, heads), 2), torch.full_like(exact, limit))
    expected = torch.minimum(exact, torch.tensor(limit))
    torch.testing.assert_close(torch.linalg.matrix_norm(by_head(capped, heads), 2), expected)


def test_a_cap_changes_nothing_below_it(reference):
    weight = reference.normal(0, 6, 5)
    torch.testing.assert_close(SpectralBound(weight, limit=100.0, fixed=False)(weight), weight, rtol=0, atol=0)


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("heads", [1, 2])
def test_gradients_are_those_of_the_exact_singular_value(fixed, heads, reference):
    weight, direction = reference.normal(0, 4, 5).requires_grad_(), reference.normal(1, 4, 5)
    bound = SpectralBound(weight, limit=0.5, fixed=fixed, heads=heads)
    (found,) = torch.autograd.grad((bound(weight) * direction).sum(), weight)
    sigma = torch.linalg.svdvals(by_head(weight, heads))[:, 0]
    factor = 0.5 / sigma if fixed else (0.5 / sigma).clamp(max=1)
    exact = (by_head(weight, heads) * factor.view(-1, 1, 1)).flatten(0, 1)
    (expected,) = torch.autograd.grad((exact * direction).sum(), weight)
    torch.testing.assert_close(found, expected)


def test_power_iteration_follows_weights_that_change(reference):
    weight = reference.normal(0, 8, 8)
    bound = SpectralBound(weight, limit=1.0, fixed=True, heads=2)
    other = reference.normal(1, 8, 8)
    behind = torch.linalg.matrix_norm(by_head(bound(other), 2), 2)
    bound.advance(other, steps=300)
    torch.testing.assert_close(torch.linalg.matrix_norm(by_head(bound(other), 2), 2), torch.ones(2).double())
    assert (behind > 1.001).all(), "the vectors of other weights would have served as well"


def test_a_gradient_may_be_asked_for_after_the_vectors_advanced(reference):
    weight = reference.normal(0, 4, 4).requires_grad_()
    bound = SpectralBound(weight, limit=1.0, fixed=True)
    early = bound(weight).sum()
    expected = torch.autograd.grad(bound(weight).sum(), weight)
    bound.advance(reference.normal(1, 4, 4))
    torch.testing.assert_close(torch.autograd.grad(early, weight), expected, rtol=0, atol=0)


def test_maps_of_zero_stay_zero_and_can_leave_it(reference):
    weight = torch.zeros(4, 4, dtype=torch.float64, requires_grad=True)
    bound = SpectralBound(weight, limit=1.0, fixed=False)
    bound.advance(weight)
    (gradient,) = torch.autograd.grad((bound(weight) * reference.normal(0, 4, 4)).sum(), weight)
    assert gradient.isfinite().all() and gradient.any()
    torch.testing.assert_close(torch.linalg.vector_norm(bound.u, dim=1), torch.ones(1).double())


def test_all_bounds_of_a_network_advance_and_are_saved(reference):
    linear = nn.Linear(4, 6).double()
    parametrize.register_parametrization(linear, "weight", SpectralBound(linear.weight, limit=2.0, fixed=True, heads=3))
    network = nn.Sequential(linear, nn.Linear(6, 2))
    with torch.no_grad():
        linear.parametrizations.weight.original.copy_(reference.normal(3, 6, 4))
    for _ in range(200):
        advance_all(network)
    torch.testing.assert_close(torch.linalg.matrix_norm(by_head(linear.weight, 3), 2), torch.full((3,), 2.0).double())
    saved = network.state_dict()
    assert {"0.parametrizations.weight.0.u", "0.parametrizations.weight.0.v"} <= saved.keys()


def test_near_identity(reference):
    weight = reference.normal(0, 4, 4)
    expected = [[0.7 * (i == j) + 0.3 * weight[i, j] for j in range(4)] for i in range(4)]
    torch.testing.assert_close(NearIdentity(0.3)(weight), torch.tensor(expected).double())
