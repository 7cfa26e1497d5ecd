"""Lengths at the ends of what a number can hold."""

import numpy as np
import pytest
import torch

from lipgnn.norms.lengths import nonzero, safe_length, spectral_norm


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_safe_length(dtype):
    smallest, largest = torch.finfo(dtype).tiny, torch.finfo(dtype).max / 8
    rows = [[3, 4], [3 * largest, 4 * largest], [3 * smallest, 4 * smallest], [0, 0]]
    x = torch.tensor(rows, dtype=dtype, requires_grad=True)
    length = safe_length(x)
    np.testing.assert_allclose(length.detach().flatten(), [5, 5 * largest, 5 * smallest, 0], rtol=1e-6)
    length.sum().backward()
    np.testing.assert_allclose(x.grad, [[0.6, 0.8]] * 3 + [[0, 0]], rtol=1e-6)


def test_what_cannot_be_divided_by_becomes_one():
    tiny = torch.finfo(torch.float32).tiny
    assert nonzero(torch.tensor([0.0, tiny / 2, 2 * tiny, 3.0])).tolist() == [1.0, 1.0, pytest.approx(2 * tiny), 3.0]


def test_the_spectral_norm_is_found_in_float64(reference):
    weight = reference.normal(0, 5, 3)
    assert spectral_norm(weight) == pytest.approx(np.linalg.svd(weight.numpy())[1][0], rel=1e-14)
    single = weight.float()
    assert spectral_norm(single) == pytest.approx(np.linalg.svd(single.double().numpy())[1][0], rel=1e-14)
