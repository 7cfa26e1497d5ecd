"""Bounded weights against exact singular values, their gradient against differences, their vectors over training."""

import math

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from lipgnn.norms import SpectralBound, advance_all


def by_head(weight, heads):
    return weight.unflatten(0, (heads, -1))


def bounded(weight, **options):
    """A linear map of this weight, bounded; and where its free weight and its bound are."""
    linear = nn.Linear(weight.shape[1], weight.shape[0], bias=False).double()
    with torch.no_grad():
        linear.weight.copy_(weight)
    parametrize.register_parametrization(linear, "weight", SpectralBound(linear.weight, **options))
    return linear, linear.parametrizations.weight.original, linear.parametrizations.weight[0]


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


def test_the_bound_follows_weights_that_change_at_once(reference):
    linear, free, _ = bounded(reference.normal(0, 8, 8), limit=1.0, fixed=True, heads=2)
    with torch.no_grad():
        free.copy_(reference.normal(1, 8, 8))
    behind = torch.linalg.matrix_norm(by_head(linear.weight, 2), 2)
    advance_all(linear)
    torch.testing.assert_close(torch.linalg.matrix_norm(by_head(linear.weight, 2), 2), torch.ones(2).double())
    assert (behind > 1.001).all(), "the vectors of other weights would have served as well"


def test_a_gradient_may_be_asked_for_after_the_vectors_advanced(reference):
    linear, free, _ = bounded(reference.normal(0, 4, 4), limit=1.0, fixed=True)
    early = linear.weight.square().sum()
    expected = torch.autograd.grad(linear.weight.square().sum(), free)
    before = free.detach().clone()
    with torch.no_grad():
        free.data = reference.normal(1, 4, 4)
    advance_all(linear)
    with torch.no_grad():
        free.data = before
    torch.testing.assert_close(torch.autograd.grad(early, free), expected, rtol=0, atol=0)


def test_maps_of_zero_stay_zero_and_can_leave_it(reference):
    linear, free, bound = bounded(torch.zeros(4, 4).double(), limit=1.0, fixed=False)
    advance_all(linear)
    assert not linear.weight.any()
    (gradient,) = torch.autograd.grad((linear.weight * reference.normal(0, 4, 4)).sum(), free)
    assert gradient.isfinite().all() and gradient.any()
    torch.testing.assert_close(torch.linalg.vector_norm(bound.u, dim=1), torch.ones(1).double())


def test_all_bounds_of_a_network_advance_each_by_its_own_shape_and_are_saved(reference):
    shapes = [(6, 4, 3), (6, 4, 3), (6, 4, 2), (4, 6, 1)]
    parts = [
        bounded(reference.normal(k, rows, columns), limit=2.0, fixed=True, heads=heads)
        for k, (rows, columns, heads) in enumerate(shapes)
    ]
    network = nn.ModuleList([*(linear for linear, _, _ in parts), nn.Linear(6, 2)])
    for k, (_, free, _) in enumerate(parts):
        with torch.no_grad():
            free.copy_(reference.normal(10 + k, *free.shape))
    advance_all(network)
    for (linear, _, _), (_, _, heads) in zip(parts, shapes, strict=True):
        lengths = torch.linalg.matrix_norm(by_head(linear.weight, heads), 2)
        torch.testing.assert_close(lengths, torch.full_like(lengths, 2.0))
    assert {"0.parametrizations.weight.0.u", "3.parametrizations.weight.0.v"} <= network.state_dict().keys()


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("rows, columns", [(5, 9), (9, 5), (6, 6)])
def test_two_values_that_are_nearly_equal_are_told_apart(rows, columns, size, reference):
    """Where power iteration would take thousands of steps; in float32."""
    left, _, right = torch.linalg.svd(reference.normal(0, rows, columns), full_matrices=False)
    values = torch.linspace(1, 0.1, left.shape[1]).double()
    values[1] = 0.9999
    linear = nn.Linear(columns, rows, bias=False)
    with torch.no_grad():
        linear.weight.copy_(reference.normal(1, rows, columns) * size)
    parametrize.register_parametrization(linear, "weight", SpectralBound(linear.weight, limit=2.0, fixed=True))
    with torch.no_grad():
        linear.parametrizations.weight.original.copy_(left * values @ right * size)
    advance_all(linear)
    assert torch.linalg.matrix_norm(linear.weight.double(), 2).item() == pytest.approx(2, rel=1e-6)


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_weights_that_are_not_finite_are_left_to_whoever_computes_with_them(value, reference):
    linear, free, bound = bounded(reference.normal(0, 4, 6), limit=1.0, fixed=True, heads=2)
    with torch.no_grad():
        free[0, 0] = value
    advance_all(linear)
    assert bound.u.isfinite().all() and bound.v.isfinite().all() and not linear.weight.isfinite().all()
