"""Linear maps: as torch computes them, in derivatives of any order, with oneDNN and without it."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import linear

from lipgnn.kernels import affine, fused, implementation, native, product

# Large enough for the faster product, wherever that is one.
ROWS, IN, OUT = 700, 64, 64
compiled = pytest.mark.skipif(
    implementation("auto", torch.device("cpu")) is not fused, reason="the compiled kernel is not here"
)


@pytest.fixture
def seen(monkeypatch):
    """The calls of oneDNN, which is taken for the faster one whoever made the processor."""
    calls = []

    def counted(*arguments):
        calls.append(arguments[0].shape)
        return product._onednn(*arguments)

    monkeypatch.setattr(product, "faster_product", lambda: counted)
    return calls


def drawn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@compiled
@pytest.mark.skipif(not product._has_onednn(), reason="this torch is without oneDNN")
class TestTheFasterProduct:
    @pytest.mark.parametrize("threads", [1, 2])
    @pytest.mark.parametrize("biased", [True, False])
    def test_equals_a_product_of_twice_the_digits(self, seen, biased, threads):
        x, weight, bias, grad = drawn(ROWS, IN), drawn(OUT, IN), drawn(OUT), drawn(ROWS, OUT)
        leaves = [t.requires_grad_() for t in (x, weight, *([bias] if biased else []))]
        exact = [t.detach().double().requires_grad_() for t in leaves]
        before = torch.get_num_threads()
        try:
            torch.set_num_threads(threads)
            out = affine(*leaves, *([] if biased else [None]), "auto")
            found = torch.autograd.grad(out, leaves, grad)
        finally:
            torch.set_num_threads(before)
        expected = linear(*exact)
        torch.testing.assert_close(out.double(), expected, rtol=1e-5, atol=1e-4)
        for ours, theirs in zip(found, torch.autograd.grad(expected, exact, grad.double()), strict=True):
            torch.testing.assert_close(ours.double(), theirs, rtol=1e-5, atol=1e-3)
        assert seen

    def test_second_derivatives_are_those_of_torch(self, seen):
        given = [drawn(ROWS, IN).requires_grad_(), drawn(OUT, IN).requires_grad_()]
        results = []
        for function in (lambda x, w: affine(x, w, None, "auto"), linear):
            first = torch.autograd.grad(function(*given).square().sum(), given, create_graph=True)
            results.append(torch.autograd.grad(sum(g.square().sum() for g in first), given))
        for ours, theirs in zip(*results, strict=True):
            torch.testing.assert_close(ours / theirs.abs().max(), theirs / theirs.abs().max(), rtol=0, atol=1e-5)

    def test_gradients_that_nobody_asks_for_are_not_computed(self, seen):
        x, weight = drawn(ROWS, IN).requires_grad_(), drawn(OUT, IN)
        affine(x, weight, None, "auto").sum().backward()
        # The product, and that of the gradient of x.
        assert len(seen) == 2 and weight.grad is None

    def test_is_for_large_maps_of_one_type_and_for_the_fused_kernel(self, seen):
        x, weight = drawn(ROWS, IN), drawn(OUT, IN)
        affine(x[:10], weight, None, "auto")
        affine(x.double(), weight.double(), None, "auto")
        affine(x, weight, None, "dgl")
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert affine(x, weight, None, "auto").dtype == torch.bfloat16
        assert not seen
        affine(x, weight, None, "auto")
        assert seen

    def test_takes_rows_of_any_arrangement(self, seen):
        x, weight = drawn(ROWS, IN), drawn(OUT, IN)
        found = affine(x.unflatten(0, (2, -1)), weight, None, "auto")
        torch.testing.assert_close(found.flatten(0, 1), linear(x, weight), rtol=1e-4, atol=1e-4)
        assert seen and found.shape == (2, ROWS // 2, OUT)


@compiled
@pytest.mark.parametrize(
    "capability, intel, onednn, faster",
    [
        ("AVX512", False, True, True),
        ("AVX512", True, True, False),
        ("AVX2", False, True, False),
        ("AVX512", False, False, False),
    ],
)
def test_is_taken_where_mkl_leaves_long_vectors_unused(monkeypatch, capability, intel, onednn, faster):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    monkeypatch.setattr(native, "made_by_intel", lambda: intel)
    monkeypatch.setattr(product, "_has_onednn", lambda: onednn)
    product.faster_product.cache_clear()
    try:
        assert (product.faster_product() is not None) == faster
    finally:
        product.faster_product.cache_clear()


def test_an_operation_that_torch_took_away_is_not_used(monkeypatch):
    def gone(*_):
        raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute '_linear_pointwise'")

    monkeypatch.setattr(product, "_onednn", gone)
    assert not product._has_onednn()


def test_without_it_torch_multiplies(monkeypatch):
    monkeypatch.setattr(product, "faster_product", lambda: None)
    x, weight, bias = drawn(ROWS, IN), drawn(OUT, IN), drawn(OUT)
    assert torch.equal(affine(x, weight, bias, "auto"), linear(x, weight, bias))
