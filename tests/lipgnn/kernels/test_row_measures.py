"""Four measurements of the rows of a matrix in compiled passes: as their definitions, written as loops, have them."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.errors import DataError, UsageError
from lipgnn.kernels import fused
from lipgnn.kernels.row_measures import row_measures

pytestmark = pytest.mark.skipif(
    fused.obstacle(torch.device("cpu")) is not None, reason=str(fused.obstacle(torch.device("cpu")))
)


def composite(rows):
    columns = [math.fsum(abs(value) for value in column) for column in zip(*rows, strict=True)]
    return math.sqrt(max(columns) * max(math.fsum(map(abs, row)) for row in rows))


def centered(rows, groups):
    found = []
    for row, group in zip(rows, groups, strict=True):
        members = [other for other, number in zip(rows, groups, strict=True) if number == group]
        means = [math.fsum(column) / len(members) for column in zip(*members, strict=True)]
        found.append([value - mean for value, mean in zip(row, means, strict=True)])
    return found


def frobenius(rows):
    return math.sqrt(math.fsum(value * value for row in rows for value in row))


def defined(m, groups):
    rows = m.tolist()
    apart = centered(rows, [0] * len(rows))
    rest = apart if groups is None else centered(rows, groups.tolist())
    return [frobenius(rows), frobenius(apart), composite(rows), composite(rest)]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([torch.float32, torch.float64]),
    st.integers(1, 30),
    st.integers(1, 40),
    st.integers(0, 5),
    st.booleans(),
    st.integers(-30, 30),
    st.integers(0, 2**31),
)
def test_is_what_the_definitions_say(dtype, rows, width, groups, takes_off, exponent, seed):
    generator = torch.Generator().manual_seed(seed)
    x, less = (10.0**exponent * torch.randn(2, rows, width, dtype=dtype, generator=generator)).unbind()
    numbers = torch.randint(groups, (rows,), generator=generator) if groups else None
    found = row_measures(x, numbers, less if takes_off else None)
    m = x.double() - less.double() if takes_off else x.double()
    assert all(value.dtype == torch.float64 and value.shape == () for value in found)
    size = frobenius(m.tolist())
    assert [value.item() for value in found] == pytest.approx(defined(m, numbers), rel=1e-12, abs=1e-12 * size)


def test_a_matrix_of_many_pieces_is_no_less_exact_and_may_lie_anyhow():
    x = torch.randn(1300, 37, generator=torch.Generator().manual_seed(0))
    groups = torch.arange(1300) % 3
    for view, numbers in ((x, groups), (x[::2], groups[::2]), (x.T[:, :50].T, groups[:50]), (x[:, 5:9], groups)):
        found = [value.item() for value in row_measures(view, numbers)]
        assert found == pytest.approx(defined(view.double(), numbers), rel=1e-12)


def test_does_not_depend_on_the_number_of_threads():
    x = torch.randn(5000, 33, generator=torch.Generator().manual_seed(1))
    threads, results = torch.get_num_threads(), []
    try:
        for number in (1, 2, 3):
            torch.set_num_threads(number)
            results.append(row_measures(x, torch.arange(5000) % 7))
    finally:
        torch.set_num_threads(threads)
    assert results[0] == results[1] == results[2]


def test_a_group_without_rows_changes_nothing():
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(2))
    assert row_measures(x, torch.tensor([0, 0, 5, 5])) == row_measures(x, torch.tensor([0, 0, 1, 1]))


@pytest.mark.parametrize("broken", [math.nan, math.inf])
@pytest.mark.parametrize("place", [(0, 0), (1, 2), (2999, 4)])
def test_what_is_not_finite_stays_visible(broken, place):
    x = torch.ones(3000, 5)
    x[place] = broken
    assert not any(value.isfinite() for value in row_measures(x))


@pytest.mark.parametrize(
    "groups, less",
    [
        (torch.tensor([0, 1]), None),
        (torch.tensor([0, 1, 0, 1]), None),
        (torch.tensor([0, -1, 0]), None),
        (None, torch.ones(2, 2)),
        (None, torch.ones(3, 1)),
    ],
)
def test_arrays_that_do_not_fit_are_refused(groups, less):
    with pytest.raises(DataError, match=r"x must be \(N, W\)"):
        row_measures(torch.ones(3, 2), groups, less)


def test_other_types_are_refused_in_a_sentence():
    with pytest.raises(UsageError, match="got bfloat16"):
        row_measures(torch.ones(3, 2, dtype=torch.bfloat16))
    with pytest.raises(DataError, match="needs group as 3 values of int64"):
        row_measures(torch.ones(3, 2), torch.zeros(3, dtype=torch.int32))
    with pytest.raises(DataError, match="needs less as 6 values of float32"):
        row_measures(torch.ones(3, 2), None, torch.ones(3, 2, dtype=torch.float64))
