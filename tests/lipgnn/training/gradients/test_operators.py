"""What is sent of a vector: contractions, unbiased levels, and bits counted by hand."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lipgnn.training.gradients.operators import (
    dense_bits,
    dequantize,
    qsgd_bits,
    quantize,
    random_k,
    top_k,
    top_k_bits,
)

CPU = torch.device("cpu")


def left(x, places):
    """‖x − comp(x)‖² where these places are sent."""
    rest = x.clone()
    rest[places] = 0
    return rest.square().sum().item()


def draws(x, k, count):
    return torch.tensor([left(x, random_k(len(x), k, seed, CPU)) for seed in range(count)], dtype=torch.float64)


@given(st.integers(1, 40), st.data())
def test_top_k_is_a_contraction_and_leaves_no_more_than_any_other_choice(size, data):
    k = data.draw(st.integers(1, size))
    numbers = st.floats(-1e6, 1e6, allow_nan=False)
    x = torch.tensor(data.draw(st.lists(numbers, min_size=size, max_size=size)), dtype=torch.float64)
    places = top_k(x, k)
    assert len(set(places.tolist())) == k
    ours = left(x, places)
    assert ours <= (1 - k / size) * x.square().sum().item() * (1 + 1e-12)
    assert ours <= left(x, random_k(size, k, 3, CPU)) * (1 + 1e-12)


def test_random_k_is_a_contraction_in_the_mean():
    x = torch.randn(30, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = draws(x, 6, 2000)
    expected = (1 - 6 / 30) * x.square().sum().item()
    assert abs(found.mean().item() - expected) <= 3 * found.std().item() / math.sqrt(len(found))


def test_random_k_is_a_function_of_its_seed_and_takes_every_place_equally_often():
    assert torch.equal(random_k(100, 7, 5, CPU), random_k(100, 7, 5, CPU))
    assert not torch.equal(random_k(100, 7, 5, CPU), random_k(100, 7, 6, CPU))
    counts = torch.zeros(10)
    for seed in range(3000):
        places = random_k(10, 3, seed, CPU)
        assert len(set(places.tolist())) == 3
        counts[places] += 1
    # Each is binomial with 900 expected and a deviation of 25.
    assert (counts - 900).abs().max() < 4 * math.sqrt(3000 * 0.3 * 0.7)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_qsgd_is_unbiased_and_keeps_to_its_levels(bits):
    x = torch.randn(50, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    generator = torch.Generator().manual_seed(2)
    found = []
    for _ in range(3000):
        levels, length = quantize(x, bits, generator)
        assert length == x.norm()
        exact = 2**bits * x / length
        assert ((levels - exact).abs() < 1).all(), "no further than to the next level"
        found.append(dequantize(levels, length, bits))
    found = torch.stack(found)
    error = (found.mean(dim=0) - x).abs()
    assert (error <= 4.5 * found.std(dim=0) / math.sqrt(len(found)) + 1e-12).all()


def test_qsgd_of_nothing_is_nothing():
    levels, length = quantize(torch.zeros(4), 3, torch.Generator())
    assert dequantize(levels, length, 3).tolist() == [0, 0, 0, 0]


def test_bits_are_those_of_the_formulas():
    assert dense_bits(2000, 32) == 64_000
    # 3 values of 32 bits, and places among 1000 take 10 bits each.
    assert top_k_bits(1000, 3, 32) == 3 * 42
    assert top_k_bits(1024, 3, 32) == 3 * 42
    assert top_k_bits(1025, 3, 32) == 3 * 43
    assert top_k_bits(1, 1, 32) == 32


def test_qsgd_takes_the_bits_that_the_authors_of_mem_sgd_count():
    """Their stored figures: epsilon, d = 2000 dense, and RCV1, d = 47 236 with 70 that are not zero."""
    assert [qsgd_bits(2000, bits, 2000) for bits in (2, 4)] == [pytest.approx(617, abs=1), pytest.approx(2947, abs=1)]
    assert qsgd_bits(2000, 8, 2000) == 18_000
    assert [qsgd_bits(47_236, bits, 70) for bits in (2, 4, 8)] == [2450, 2590, 2870]
