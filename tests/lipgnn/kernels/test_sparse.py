"""A linear map of sparse features: as the dense one, whatever is dropped, at any number of threads."""

from __future__ import annotations

import gc

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import linear

from lipgnn.errors import DataError, UsageError
from lipgnn.kernels import sparse
from lipgnn.kernels.sparse import sparse_linear

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}


def matrix(rows, columns, share, seed, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    dense = torch.randn(rows, columns, dtype=dtype, generator=generator)
    return (dense * (torch.rand(rows, columns, generator=generator) < share)).to_sparse().coalesce()


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 30),
    st.integers(1, 20),
    st.integers(1, 19),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.sampled_from(sorted(TOLERANCE, key=str)),
    st.integers(0, 2**31),
)
def test_equals_the_dense_map_in_values_and_gradients(rows, columns, width, share, dtype, seed):
    x = matrix(rows, columns, share, seed, dtype)
    generator = torch.Generator().manual_seed(seed + 1)
    values = x.values() * (torch.rand(len(x.values()), generator=generator) < 0.5)
    changed = torch.sparse_coo_tensor(x.indices(), values, x.shape, device="cpu", check_invariants=False).to_dense()
    weight, bias, grad = (
        torch.randn(*shape, dtype=dtype, generator=generator) for shape in ((width, columns), (width,), (rows, width))
    )
    results = []
    for function in (lambda w, b: linear(changed, w, b), lambda w, b: sparse_linear(x, values, w, b)):
        leaves = weight.clone().requires_grad_(), bias.clone().requires_grad_()
        out = function(*leaves)
        results.append((out.detach(), *torch.autograd.grad(out, leaves, grad)))
    torch.testing.assert_close(results[1], results[0], rtol=TOLERANCE[dtype], atol=10 * TOLERANCE[dtype])


def test_does_not_depend_on_the_number_of_threads():
    x = matrix(5000, 60, 0.2, 0, torch.float32)
    generator = torch.Generator().manual_seed(1)
    weight, bias = torch.randn(17, 60, generator=generator, requires_grad=True), torch.randn(17, generator=generator)
    threads, results = torch.get_num_threads(), []
    try:
        for number in (1, 2, 5):
            torch.set_num_threads(number)
            out = sparse_linear(x, x.values(), weight, bias)
            results.append((out, *torch.autograd.grad(out.square().sum(), weight)))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(a, b) for other in results[1:] for a, b in zip(results[0], other, strict=True))


def test_the_order_of_entries_is_found_once_and_goes_with_the_features(monkeypatch):
    calls = []
    original = sparse._orders_of
    monkeypatch.setattr(sparse, "_orders_of", lambda x: calls.append(1) or original(x))
    x = matrix(4, 3, 0.5, 0)
    before = len(sparse._made)
    for _ in range(2):
        sparse_linear(x, x.values(), torch.ones(2, 3).double(), torch.ones(2).double())
    assert calls == [1] and len(sparse._made) == before + 1
    del x
    gc.collect()
    assert len(sparse._made) == before


def test_a_second_derivative_is_refused_and_never_left_out():
    x = matrix(4, 3, 1.0, 0)
    weight = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    out = sparse_linear(x, x.values(), weight, torch.zeros(2, dtype=torch.float64))
    (grad,) = torch.autograd.grad(out.square().sum(), weight, create_graph=True)
    with pytest.raises(UsageError, match="no second derivatives"):
        torch.autograd.grad((grad * weight).sum(), weight)


def test_arrays_that_do_not_fit_are_refused():
    x, weight, bias = matrix(4, 3, 1.0, 0), torch.ones(2, 3, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    for values, other, own in (
        (x.values()[:-1], weight, bias),
        (x.values(), weight[:, :2], bias),
        (x.values(), weight, bias[:1]),
        (x.values().float(), weight, bias),
    ):
        with pytest.raises(DataError, match="x has 3 columns and 12 entries"):
            sparse_linear(x, values, other, own)
    apart = torch.empty(24, dtype=torch.float64)[::2].copy_(x.values())
    torch.testing.assert_close(
        sparse_linear(x, apart, weight.t().contiguous().t(), bias), linear(x.to_dense(), weight, bias)
    )


@pytest.mark.parametrize("place", [[[0], [3]], [[0], [-1]], [[2], [0]], [[-1], [0]]])
def test_entries_outside_of_the_matrix_are_refused(place):
    x = torch.sparse_coo_tensor(place, [1.0], (2, 3), is_coalesced=True, check_invariants=False)
    with pytest.raises(DataError, match=r"entries outside|not there"):
        sparse_linear(x, x.values(), torch.ones(2, 3), torch.zeros(2))


def test_entries_that_are_not_in_order_are_refused():
    x = torch.sparse_coo_tensor([[1, 0], [0, 0]], [1.0, 1.0], (2, 3), is_coalesced=False, check_invariants=False)
    with pytest.raises(DataError, match="coalesced"):
        sparse_linear(x, torch.ones(2), torch.ones(2, 3), torch.zeros(2))
