"""Dropout in one pass: published numbers of Philox, shares, gradients of any order, and any number of threads."""

from __future__ import annotations

import pytest
import torch

from lipgnn.errors import UsageError
from lipgnn.kernels import fused, implementation
from lipgnn.kernels.dropout import drop

pytestmark = pytest.mark.skipif(
    implementation("auto", torch.device("cpu")) is not fused, reason="the compiled kernel is not here"
)
# Philox 4x32-10 of the counter 0 and the key 0, from the known answers of Random123 (Salmon et al. 2011).
KNOWN = {0: 0x6627E8D5, 16: 0xE169C58D, 32: 0xBC57AC4C, 48: 0x9B00DBD8}


@pytest.mark.parametrize("entry, number", KNOWN.items())
def test_the_numbers_are_those_of_philox(entry, number):
    ones = torch.ones(64, dtype=torch.float64)
    # An entry is dropped where its number is below p · 2^32.
    assert drop(ones, number / 2**32, seed=0)[entry] > 0
    assert drop(ones, (number + 1) / 2**32, seed=0)[entry] == 0


@pytest.mark.parametrize("p", [0.0, 0.1, 0.6, 0.99])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_share_asked_for_is_dropped_and_the_rest_is_scaled(dtype, p):
    x = torch.rand(500, 401, dtype=dtype, generator=torch.Generator().manual_seed(0)) + 1
    y = drop(x, p, seed=1)
    dropped = (y == 0).double().mean().item()
    assert abs(dropped - p) <= 6 * (p * (1 - p) / x.numel()) ** 0.5
    kept = y != 0
    torch.testing.assert_close(y[kept], x[kept] / (1 - p))
    other = drop(x, p, seed=2) == 0
    # Two seeds agree on an entry as often as two independent draws.
    assert abs(((y == 0) & other).double().mean().item() - p * p) <= 6 / x.numel() ** 0.5


@pytest.mark.parametrize("shape", [(0,), (1,), (63,), (7, 9), (3, 2, 11), (16385,)])
def test_any_shape_and_any_strides(shape):
    x = torch.ones(*shape)
    y = drop(x, 0.5, seed=3)
    assert y.shape == x.shape
    whole = drop(torch.ones(20_000), 0.5, seed=3)
    assert torch.equal(y.flatten(), whole[: y.numel()])
    if x.dim() == 2:
        assert torch.equal(drop(x.t().contiguous().t(), 0.5, seed=3), y)


def test_gradients_of_any_order_are_those_of_a_product_with_the_mask():
    x = torch.randn(40, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    mask = drop(torch.ones(40, dtype=torch.float64), 0.4, seed=9)
    for function in (lambda x: drop(x, 0.4, seed=9), lambda x: x * mask):
        (first,) = torch.autograd.grad(function(x).pow(3).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
        torch.testing.assert_close(first, 3 * mask**3 * x**2)
        torch.testing.assert_close(second, 6 * mask**3 * x)


def test_it_does_not_depend_on_the_number_of_threads():
    x, before = torch.ones(100_003), torch.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append(drop(x, 0.5, seed=4))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])


def test_what_is_not_finite_stays_visible():
    assert drop(torch.full((64,), float("nan")), 0.5, seed=0).isnan().all()


@pytest.mark.parametrize("p", [-0.1, 1.0, float("nan")])
def test_a_share_outside_its_limits_is_refused(p):
    with pytest.raises(UsageError, match="at least 0 and below 1"):
        drop(torch.ones(3), p, seed=0)


def test_a_type_that_is_not_computed_in_is_refused():
    with pytest.raises(UsageError, match="float32 and float64, and got float16"):
        drop(torch.ones(3, dtype=torch.float16), 0.5, seed=0)
