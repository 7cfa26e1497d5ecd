"""Sums over rows: as loops in plain Python."""

from __future__ import annotations

import math

import pytest
import torch
from walkers import draw_logits

from lipgnn.walks.segments import (
    entries_of,
    segment_log_sum_exp,
    segment_max,
    segment_softmax,
    segment_sums,
    starts_of,
    take,
)

ROW = torch.tensor([3, 0, 3, 1, 3, 0])


def of_row(values, row):
    return [value for value, own in zip(values.tolist(), ROW.tolist(), strict=True) if own == row]


def test_rows_are_as_loops_have_them():
    values = draw_logits(0, 6)
    sums, largest = segment_sums(values, ROW, 5), segment_max(values, ROW, 5)
    logs, shares = segment_log_sum_exp(values, ROW, 5), segment_softmax(values, ROW, 5)
    for row in range(5):
        own = of_row(values, row)
        assert float(sums[row]) == pytest.approx(sum(own))
        assert float(largest[row]) == max(own, default=-math.inf)
        total = sum(map(math.exp, own))
        assert float(logs[row]) == pytest.approx(math.log(total) if own else -math.inf)
        assert of_row(shares, row) == pytest.approx([math.exp(value) / total for value in own])


def test_large_values_are_no_matter():
    values = torch.tensor([1000.0, -1000, 1001, 5, 999, -1001])
    logs = segment_log_sum_exp(values, ROW, 4)
    expected = [-1000 + math.log1p(math.exp(-1)), 5, -math.inf, 1001 + math.log(1 + math.exp(-1) + math.exp(-2))]
    assert logs.tolist() == pytest.approx(expected)
    assert segment_softmax(values, ROW, 4).isfinite().all()


def test_gradients():
    values = draw_logits(1, 6).requires_grad_()
    for function in (segment_log_sum_exp, segment_softmax):
        check = lambda x, function=function: function(x, ROW, 5).nan_to_num(neginf=0.0)  # noqa: E731
        assert torch.autograd.gradcheck(check, values)
        assert torch.autograd.gradgradcheck(check, values)


def test_take_is_indexing():
    values, places = draw_logits(2, 5).requires_grad_(), torch.tensor([4, 0, 4])
    assert torch.equal(take(values, places), values[places])
    assert torch.autograd.gradcheck(lambda x: take(x, places), values)


def test_entries_of_rows():
    first = starts_of(torch.tensor([0, 0, 2, 2, 2]), 4)
    assert first.tolist() == [0, 2, 2, 5, 5]
    place, entry = entries_of(first, torch.tensor([2, 1, 0, 2]))
    assert place.tolist() == [0, 0, 0, 2, 2, 3, 3, 3]
    assert entry.tolist() == [2, 3, 4, 0, 1, 2, 3, 4]
    assert [len(part) for part in entries_of(first, torch.tensor([], dtype=torch.int64))] == [0, 0]
