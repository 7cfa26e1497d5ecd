"""x + s ELU(y) in one pass: as torch computes it in three."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import elu

from lipgnn.errors import DataError, UsageError
from lipgnn.kernels.residual import add_activated, residual_elu

TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-14}


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(sorted(TOLERANCE, key=str)),
    st.integers(0, 40),
    st.integers(1, 9),
    st.booleans(),
    st.floats(0.01, 2),
    st.integers(0, 2**31),
)
def test_equals_torch_in_values_and_gradients(dtype, rows, columns, adds, scale, seed):
    generator = torch.Generator().manual_seed(seed)
    x, y, grad = (torch.randn(rows, columns, dtype=dtype, generator=generator) for _ in range(3))
    results = []
    for function in (
        lambda x, y: (x if adds else 0) + scale * elu(y),
        lambda x, y: residual_elu(x if adds else None, y, scale),
    ):
        leaves = x.clone().requires_grad_(), y.clone().requires_grad_()
        out = function(*leaves)
        out.backward(grad)
        results.append((out.detach(), leaves[1].grad, leaves[0].grad if adds else None))
    for ours, theirs in zip(results[1], results[0], strict=True):
        if theirs is not None:
            torch.testing.assert_close(ours, theirs, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_small_values_keep_their_digits(dtype):
    """exp(y) - 1 would lose them: in a deep network a signal of 1e-10 is still a signal."""
    y = -torch.logspace(-30, 1, 200, dtype=dtype)
    torch.testing.assert_close(residual_elu(None, y, 1.0), torch.expm1(y), rtol=10 * TOLERANCE[dtype], atol=0)


def test_what_is_not_finite_stays_visible():
    y = torch.tensor([float("nan"), float("inf"), -float("inf"), -1e30])
    out = residual_elu(torch.zeros(4), y, 1.0)
    assert out.isnan().tolist() == [True, False, False, False]
    assert out[1:].tolist() == [float("inf"), -1.0, -1.0]


def test_does_not_depend_on_the_number_of_threads():
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, 100_003, generator=generator)
    threads, results = torch.get_num_threads(), []
    try:
        for number in (1, 2, 3):
            torch.set_num_threads(number)
            results.append(residual_elu(x, y, 0.3))
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])


def test_gradcheck():
    x, y = torch.randn(2, 3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, y: residual_elu(x, y, 0.7), (x, y))


@pytest.mark.parametrize("adds", [True, False])
def test_second_derivatives_are_those_of_torch(adds):
    x, y = (torch.tensor([[0.3, -1.2], [-0.1, 2.0]], dtype=torch.float64, requires_grad=True) for _ in range(2))
    inputs = [x, y] if adds else [y]
    assert torch.autograd.gradgradcheck(lambda *given: residual_elu(*([None, *given][-2:]), 0.7).exp(), inputs)


@pytest.mark.parametrize(
    "x, y",
    [
        (torch.ones(3, 2), torch.ones(4, 2)),
        (torch.ones(1, 2), torch.ones(4, 2)),
        (torch.ones(4, 2).double(), torch.ones(4, 2)),
        (torch.ones(4, 2, device="meta"), torch.ones(4, 2)),
    ],
)
def test_what_is_not_of_one_shape_type_and_device_is_refused(x, y):
    with pytest.raises(DataError, match="x and y must have one shape and type"):
        residual_elu(x, y, 1.0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_other_types_are_left_to_torch_or_refused_in_a_sentence(dtype):
    x, y = torch.ones(4, 2, dtype=dtype), torch.full((4, 2), -1.0, dtype=dtype)
    torch.testing.assert_close(add_activated(x, nn.ELU(), y, 0.5, "auto"), x + 0.5 * elu(y))
    torch.testing.assert_close(add_activated(x.float(), nn.ELU(), y, 1, "auto"), x.float() + elu(y))
    with pytest.raises(UsageError, match=f"float32 and float64, and got {str(dtype)[6:]}"):
        residual_elu(x, y, 1.0)


@pytest.mark.parametrize("adds", [True, False])
@pytest.mark.parametrize("activation", [nn.ELU(), nn.ELU(alpha=0.5), nn.ReLU(), nn.Identity()], ids=repr)
@pytest.mark.parametrize("kernel", ["auto", "dgl"])
def test_a_block_ends_alike_with_every_kernel(kernel, activation, adds):
    x, y = torch.randn(2, 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    expected = (x if adds else 0) + 0.4 * activation(y)
    found = add_activated(x if adds else None, activation, y, 0.4, kernel)
    torch.testing.assert_close(found, expected, rtol=1e-14, atol=1e-14)


def test_the_reference_ends_with_the_activation_itself():
    """So that a hook on it, or another class in its place, is seen."""
    activation, seen = nn.ELU(), []
    activation.register_forward_hook(lambda *_: seen.append(True))
    add_activated(None, activation, torch.ones(2), 1.0, "dgl")
    assert seen == [True]
