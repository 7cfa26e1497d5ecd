"""What of many rows is shown."""

from itertools import pairwise

import pytest

from cli.diagnose_view import MOST_ROWS, TABLES, ranges, selection


@pytest.mark.parametrize("count", [1, MOST_ROWS - 1, MOST_ROWS])
def test_few_rows_are_all_shown(count):
    assert selection(range(count)) == list(range(count))


@pytest.mark.parametrize("count", [MOST_ROWS + 1, 65, 257, 1001])
def test_of_many_rows_the_first_the_last_and_some_between_are_shown(count):
    shown = selection(range(count))
    assert (shown[0], shown[-1], len(shown)) == (0, count - 1, MOST_ROWS)
    steps = {later - earlier for earlier, later in pairwise(shown)}
    assert max(steps) - min(steps) <= 1


def test_every_column_of_a_profile_but_the_similarities_is_in_one_table():
    from lipgnn.diagnose.profile import COLUMNS

    shown = [key for _, headings in TABLES for key in headings]
    # μ is shown over the length, which says the same and is free of scale.
    assert sorted(shown) == sorted({*COLUMNS} - {"layer", "grad_mu", "feat_mu"})


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (0, [(0, 0)]),
        (1, [(0, 0), (1, 1)]),
        (3, [(0, 0), (1, 1), (2, 2), (3, 3)]),
        (12, [(0, 0), (1, 1), (2, 2), (3, 4), (5, 8), (9, 12)]),
    ],
)
def test_distances_are_shown_in_ranges_that_double(last, expected):
    assert ranges(last) == expected
    assert [hops for low, high in ranges(1000) for hops in range(low, high + 1)] == list(range(1001))
