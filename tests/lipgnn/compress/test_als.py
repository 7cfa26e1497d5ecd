import numpy as np
import pytest
import torch

from lipgnn.compress import als
from lipgnn.compress.als import Factors, decompose, relative_error
from lipgnn.compress.tensor import ScoreTensor

DOUBLE = torch.float64


def factors(seed=0, sizes=(5, 3, 6), width=4):
    draw = torch.Generator().manual_seed(seed)
    return Factors(*(torch.randn(n, width, generator=draw, dtype=DOUBLE) for n in sizes))


def dense_sum(found):
    return np.einsum("ar,hr,br->ahb", *(part.numpy() for part in (found.query, found.mixing, found.key)))


def dense_error(tensor, found, dense):
    full = dense(tensor)
    return np.linalg.norm(full - dense_sum(found)) / np.linalg.norm(full)


@pytest.mark.parametrize("seed", range(4))
def test_a_planted_rank_is_found(planted, dense, seed):
    """K4."""
    tensor = planted(seed)
    found = decompose(tensor, 5)
    assert dense_error(tensor, found, dense) < 1e-5
    assert relative_error(tensor, found) == pytest.approx(dense_error(tensor, found, dense), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_warm_starts_never_make_it_worse(drawn, dense, seed):
    """K4: the error does not grow with the width."""
    tensor, before, start = drawn(seed), 1.0, None
    for width in (1, 2, 3, 5, 8, 11):
        start = decompose(tensor, width, start=start)
        error = dense_error(tensor, start, dense)
        assert error <= before + 1e-9
        before = error
    assert start.width == 11


def test_more_components_than_the_tensor_has_are_no_harm(planted, dense):
    """There the normal equations are singular, but for the ridge."""
    tensor = planted(rank=3)
    narrow = decompose(tensor, 3)
    wide = decompose(tensor, 9, start=narrow)
    assert dense_error(tensor, wide, dense) < 1e-5
    assert all(part.isfinite().all() for part in (wide.query, wide.mixing, wide.key))


def test_heads_that_are_all_alike_need_one_set_of_components(dense):
    draw = torch.Generator().manual_seed(0)
    query, key = (torch.randn(1, 3, 8, generator=draw, dtype=DOUBLE).expand(4, -1, -1) for _ in range(2))
    tensor = ScoreTensor(query, key)
    assert dense_error(tensor, decompose(tensor, 3), dense) < 1e-5


def test_one_sweep_is_that_of_a_dense_loop(drawn, dense):
    """Each factor in turn by numpy's least squares on the whole unfolded tensor."""
    tensor = drawn()
    scaled = ScoreTensor(*(part / tensor.squared_length**0.25 for part in (tensor.query, tensor.key)))
    full = dense(scaled)
    q, m, k = (part.numpy() for part in (lambda f: (f.query, f.mixing, f.key))(factors(sizes=(12, 3, 11))))

    def solved(unfolded, first, second):
        products = np.einsum("ar,br->abr", first, second).reshape(-1, first.shape[1])
        return np.linalg.lstsq(products, unfolded.T, rcond=None)[0].T

    for _ in range(3):
        q = solved(full.reshape(12, -1), m, k)
        k = solved(full.transpose(2, 0, 1).reshape(11, -1), q, m)
        m = solved(full.transpose(1, 0, 2).reshape(3, -1), q, k)
    expected = np.einsum("ar,hr,br->ahb", q, m, k)
    found, error = als._descend(scaled, factors(sizes=(12, 3, 11)), sweeps=3, tolerance=-1.0)
    assert np.allclose(dense_sum(found), expected, atol=1e-6)
    assert error == pytest.approx(np.linalg.norm(full - expected), abs=1e-6)


@pytest.mark.parametrize("width", [2, 5, 8])
def test_tensorly_finds_nothing_better(drawn, dense, width):
    """Its best of several random starts; ours may be better, and half a percent worse at most."""
    tensorly = pytest.importorskip("tensorly")
    from tensorly.decomposition import parafac

    tensor = drawn()
    full = dense(tensor)
    errors = [
        tensorly.norm(full - tensorly.cp_to_tensor(parafac(full, width, init="random", random_state=seed, tol=1e-8)))
        for seed in range(3)
    ]
    assert dense_error(tensor, decompose(tensor, width), dense) <= 1.005 * min(errors) / np.linalg.norm(full)


def test_better_than_narrower_heads(drawn, dense):
    """The same number of components, split evenly among the heads: their largest singular triples."""
    tensor = drawn()
    full = dense(tensor)
    missed = sum((np.linalg.svd(full[:, h], compute_uv=False)[2:] ** 2).sum() for h in range(3))
    assert dense_error(tensor, decompose(tensor, 6), dense) < (missed**0.5) / np.linalg.norm(full)


def test_scales_with_product_one_change_nothing_and_balance_undoes_them():
    """K6."""
    one = factors()
    a, b = torch.tensor([2.0, -3.0, 1e6, 1e-9], dtype=DOUBLE), torch.tensor([-1.0, 0.5, 1e-3, 7.0], dtype=DOUBLE)
    other = Factors(one.query * a, one.mixing / (a * b), one.key * b)
    assert np.allclose(dense_sum(one), dense_sum(other), atol=1e-9)
    for first, second in zip(*((f.query, f.mixing, f.key) for f in (one.balanced(), other.balanced())), strict=True):
        assert torch.allclose(first, second, rtol=1e-12)


def test_balanced_is_the_same_sum_with_equal_lengths_and_idempotent():
    """K6."""
    one = factors()
    once = one.balanced()
    assert np.allclose(dense_sum(one), dense_sum(once), atol=1e-12)
    lengths = [part.norm(dim=0) for part in (once.query, once.mixing, once.key)]
    assert torch.allclose(lengths[0], lengths[1]) and torch.allclose(lengths[0], lengths[2])
    for side in (once.query, once.key):
        assert (side.gather(0, side.abs().argmax(dim=0, keepdim=True)) > 0).all()
    twice = once.balanced()
    for first, second in zip((once.query, once.mixing, once.key), (twice.query, twice.mixing, twice.key), strict=True):
        assert torch.allclose(first, second, rtol=1e-13)


@pytest.mark.parametrize("size", [1e-100, 1e100])
def test_balance_neither_overflows_nor_vanishes(size):
    one = factors()
    far = Factors(one.query * size, one.mixing, one.key / size).balanced()
    assert torch.allclose(far.query, one.balanced().query, rtol=1e-10)


def test_a_component_of_nothing_becomes_three_zeros():
    one = factors()
    one.mixing[:, 2] = 0
    found = one.balanced()
    assert all((part[:, 2] == 0).all() and part.isfinite().all() for part in (found.query, found.mixing, found.key))


def test_a_tensor_of_nothing_is_a_sum_of_nothing():
    nothing = ScoreTensor(*(torch.zeros(2, 3, 4, dtype=DOUBLE) for _ in range(2)))
    found = decompose(nothing, 3)
    assert relative_error(nothing, found) == 0.0
    assert relative_error(nothing, factors(sizes=(4, 2, 4))) == 1.0


@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_the_size_of_the_tensor_does_not_matter(drawn, dense, size):
    tensor = drawn()
    far = ScoreTensor(tensor.query * size, tensor.key * size)
    assert relative_error(far, decompose(far, 5)) == pytest.approx(
        relative_error(tensor, decompose(tensor, 5)), rel=1e-4
    )


def test_the_same_twice(drawn):
    first, second = (decompose(drawn(), 5) for _ in range(2))
    assert torch.equal(first.query, second.query)
