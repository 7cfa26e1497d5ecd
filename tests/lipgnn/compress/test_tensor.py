import numpy as np
import pytest
import torch

from lipgnn.compress.tensor import ScoreTensor


def test_heads_and_length_are_those_of_the_dense_tensor(drawn, dense):
    tensor = drawn()
    full = dense(tensor)
    for head in range(tensor.heads):
        assert np.allclose(tensor.head(head), full[:, head], atol=1e-12)
    assert tensor.squared_length == pytest.approx((full**2).sum(), rel=1e-12)
    assert tensor.full_width == 12


def test_of_maps_has_heads_one_below_the_other():
    query, key = torch.randn(6, 5), torch.randn(6, 5)
    tensor = ScoreTensor.of_maps(query, key, heads=3)
    x, y = torch.randn(5), torch.randn(5)
    for head in range(3):
        rows = slice(2 * head, 2 * head + 2)
        expected = (query[rows] @ x) @ (key[rows] @ y)
        assert torch.allclose(x.double() @ tensor.head(head) @ y.double(), expected.double(), atol=1e-5)


def test_energy_is_that_of_the_heads_side_by_side(drawn, dense):
    tensor = drawn(features=(7, 9), heads=2, width=3)
    full = dense(tensor)
    squares = np.linalg.svd(np.concatenate([full[:, 0], full[:, 1]], axis=1), compute_uv=False) ** 2
    assert np.allclose(tensor.energy(), squares.cumsum() / squares.sum(), atol=1e-12)


def test_energy_of_nothing_is_held_by_nothing():
    nothing = ScoreTensor(*(torch.zeros(2, 3, 4, dtype=torch.float64) for _ in range(2)))
    assert nothing.energy().tolist() == [1.0] * 4


def test_leading_dimensions_are_singular_vectors(drawn, dense):
    tensor = drawn(features=(7, 9), heads=2, width=3)
    full = dense(tensor)
    unfolded = (full.reshape(7, -1), full.transpose(2, 0, 1).reshape(9, -1))
    for found, matrix in zip(tensor.leading(3), unfolded, strict=True):
        expected = np.linalg.svd(matrix)[0][:, :3]
        assert np.allclose(np.abs(found.numpy().T @ expected), np.eye(3), atol=1e-8)


@pytest.mark.parametrize("features, sizes", [((40, 30), (12, 12)), ((5, 7), (5, 7))])
def test_reduced_is_the_same_tensor_in_fewer_features(drawn, features, sizes):
    tensor = drawn(features=features)
    small, basis_q, basis_k = tensor.reduced()
    assert (small.query.shape[2], small.key.shape[2]) == sizes
    assert torch.allclose(basis_q.mT @ basis_q, torch.eye(sizes[0], dtype=torch.float64), atol=1e-12)
    for head in range(tensor.heads):
        assert torch.allclose(basis_q @ small.head(head) @ basis_k.mT, tensor.head(head), atol=1e-12)


def test_reduced_finds_the_rank_of_the_maps(planted):
    small, _, _ = planted(features=13, heads=4, rank=5).reduced()
    assert (small.query.shape[2], small.key.shape[2]) == (5, 5)
