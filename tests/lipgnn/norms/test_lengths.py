"""Lengths at the ends of what a number can hold."""

import numpy as np
import pytest
import torch

from lipgnn.norms.lengths import mixed_length, nonzero, safe_length, spectral_norm


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_safe_length(dtype):
    smallest, largest = torch.finfo(dtype).tiny, torch.finfo(dtype).max / 8
    rows = [[3, 4], [3 * largest, 4 * largest], [3 * smallest, 4 * smallest], [0, 0]]
    x = torch.tensor(rows, dtype=dtype, requires_grad=True)
    length = safe_length(x)
    np.testing.assert_allclose(length.detach().flatten(), [5, 5 * largest, 5 * smallest, 0], rtol=1e-6)
    length.sum().backward()
    np.testing.assert_allclose(x.grad, [[0.6, 0.8]] * 3 + [[0, 0]], rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_mixed_length(dtype):
    smallest, largest = torch.finfo(dtype).tiny, torch.finfo(dtype).max / 8
    rows = [[3, 2], [3 * largest, 2 * largest], [3 * smallest, 2 * smallest], [0, 0]]
    x = torch.tensor(rows, dtype=dtype, requires_grad=True)
    mixing = torch.tensor([[1.0, -4.0], [4.0, 0.0], [0.0, 0.0]], dtype=dtype, requires_grad=True)
    length = mixed_length(x, mixing).squeeze(-1)
    expected = [[5 * size, 6 * size, 0] for size in (1, largest, smallest, 0)]
    np.testing.assert_allclose(length.detach(), expected, rtol=1e-6)
    length[:, 0].sum().backward()
    np.testing.assert_allclose(x.grad, [[0.6, 1.6]] * 3 + [[0, 0]], rtol=1e-6)


def test_a_channel_without_weight_counts_neither_in_a_length_nor_for_nothing_in_its_gradient():
    mixing = torch.tensor([[1.0, 0.0]], requires_grad=True)
    x = torch.tensor([[1e-30, 1e30]], requires_grad=True)
    length = mixed_length(x, mixing)
    assert length.item() == pytest.approx(1e-30)
    mixed_length(torch.tensor([[3.0, 4.0]]), mixing).sum().backward()
    # Half of x² over the length, times the derivative of |m|, which is taken for 0 at 0.
    assert mixing.grad.tolist() == [[1.5, 0.0]]


def test_what_cannot_be_divided_by_becomes_one():
    tiny = torch.finfo(torch.float32).tiny
    assert nonzero(torch.tensor([0.0, tiny / 2, 2 * tiny, 3.0])).tolist() == [1.0, 1.0, pytest.approx(2 * tiny), 3.0]


def test_the_spectral_norm_is_found_in_float64(reference):
    weight = reference.normal(0, 5, 3)
    assert spectral_norm(weight) == pytest.approx(np.linalg.svd(weight.numpy())[1][0], rel=1e-14)
    single = weight.float()
    assert spectral_norm(single) == pytest.approx(np.linalg.svd(single.double().numpy())[1][0], rel=1e-14)
