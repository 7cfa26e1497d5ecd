"""Compressions by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lipgnn.errors import UsageError
from lipgnn.spec.compression import Compression, parse_compress


@pytest.mark.parametrize(
    ("text", "kind", "number", "spelled"),
    [
        ("fp16", "fp16", 0, "fp16"),
        ("topk:0.01", "topk", 0.01, "topk:0.01"),
        ("topk:1e-2", "topk", 0.01, "topk:0.01"),
        ("topk:1", "topk", 1, "topk:1"),
        ("randk:1234567.0", "randk", 1234567, "randk:1234567"),
        ("qsgd:4", "qsgd", 4, "qsgd:4"),
        ("powersgd:02", "powersgd", 2, "powersgd:2"),
    ],
)
def test_has_one_spelling(text, kind, number, spelled):
    found = parse_compress(text)
    assert found == Compression(kind, number)
    assert str(found) == spelled
    assert parse_compress(spelled) == found


@pytest.mark.parametrize(
    "text",
    [
        *("", "topk", "topk:", "topk:0", "topk:-1", "topk:1.5", "topk:nan", "topk:inf", "topk:0.01:2", "randk:1e12"),
        *("qsgd:0", "qsgd:0.5", "qsgd:15", "powersgd:0", "powersgd:0.1", "fp16:1", "fp32", "None"),
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(UsageError, match="compress must be none, fp16, topk:R") as error:
        parse_compress(text)
    assert "topk:0.01" in error.value.hint


def test_none_is_none():
    assert parse_compress("none") is None


@given(st.floats(1e-6, 1, exclude_max=True), st.integers(1, 10**7))
def test_a_share_is_rounded_up_and_never_nothing(share, size):
    k = Compression("topk", share).count(size)
    assert 1 <= k <= size
    assert k - 1 - 1e-6 <= share * size <= k + 1e-6


def test_whole_numbers_are_coordinates_and_shares_have_no_rounding_errors():
    assert [Compression("topk", 5).count(size) for size in (3, 5, 100)] == [3, 5, 5]
    assert Compression("topk", 0.07).count(100) == 7
    assert Compression("qsgd", 4).count(100) == 100


def test_says_who_does_it():
    assert [parse_compress(t).is_own for t in ("topk:1", "randk:1", "qsgd:1", "fp16", "powersgd:1")] == [True] * 3 + [
        False
    ] * 2
    assert [parse_compress(t).sparse for t in ("topk:1", "randk:1", "qsgd:1")] == [True, True, False]
