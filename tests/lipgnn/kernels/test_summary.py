"""Norm, mean and largest entry in one pass: as their definitions have them."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.kernels import fused
from lipgnn.kernels.summary import summarize


@pytest.fixture(params=["compiled", "torch"], autouse=True)
def way(request, monkeypatch):
    if request.param == "torch":
        monkeypatch.setattr(fused, "obstacle", lambda device: "not today")
    elif reason := fused.obstacle(torch.device("cpu")):
        pytest.skip(reason)


def defined(x):
    values = [abs(value) for value in x.flatten().tolist()]
    return [math.sqrt(math.fsum(v * v for v in values)), math.fsum(values) / len(values), max(values)]


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([torch.float32, torch.float64]),
    st.integers(1, 40),
    st.integers(1, 40),
    st.integers(-30, 30),
    st.integers(0, 2**31),
)
def test_is_what_the_definitions_say(dtype, rows, columns, exponent, seed):
    generator = torch.Generator().manual_seed(seed)
    x = 10.0**exponent * torch.randn(rows, columns, dtype=dtype, generator=generator)
    found = summarize(x)
    assert (found.dtype, found.shape) == (torch.float64, (3,))
    assert found.tolist() == pytest.approx(defined(x), rel=1e-6, abs=0)


def test_a_large_array_is_no_less_exact_and_may_lie_anyhow():
    x = torch.randn(3, 50_001, generator=torch.Generator().manual_seed(0))
    for view in (x, x.t(), x[:, 1::2], x[1:, :7], torch.tensor(2.0).expand(100, 100)):
        assert summarize(view).tolist() == pytest.approx(defined(view), rel=1e-6)


def test_does_not_depend_on_the_number_of_threads():
    x = torch.randn(100_003, generator=torch.Generator().manual_seed(1))
    threads, results = torch.get_num_threads(), []
    try:
        for number in (1, 2, 3):
            torch.set_num_threads(number)
            results.append(summarize(x))
    finally:
        torch.set_num_threads(threads)
    for other in results[1:]:
        torch.testing.assert_close(results[0], other, rtol=1e-6, atol=0)


def test_zeros_are_zero():
    assert summarize(torch.zeros(5, 5)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("place", [0, 17, 20_000])
def test_what_is_not_finite_stays_visible(place):
    x = torch.ones(20_001)
    x[place] = float("nan")
    assert summarize(x).isnan().all()
    x[place] = -float("inf")
    assert summarize(x).tolist() == [math.inf] * 3


def test_the_array_is_left_alone():
    x = torch.randn(4, 4, requires_grad=True)
    before = x.detach().clone()
    assert not summarize(x).requires_grad
    assert torch.equal(x, before)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_other_types_are_summarized_too(dtype):
    x = torch.tensor([1.0, -2.0, 0.5], dtype=dtype)
    assert summarize(x).tolist() == pytest.approx(defined(x))
