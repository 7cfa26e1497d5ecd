from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from lipgnn.errors import UsageError
from lipgnn.spec.horizon import check_horizon, horizon_groups


@pytest.mark.parametrize("text", ["given", "shortest:1", "shortest:1.25"])
def test_horizons(text):
    check_horizon(text)


@pytest.mark.parametrize("text", ["", "givn", "shortest", "shortest:", "shortest:x", "shortest:-1", "shortest:1."])
def test_what_is_none_is_refused(text):
    with pytest.raises(UsageError, match="horizon must be given or shortest:X") as caught:
        check_horizon(text)
    assert caught.value.hint.startswith("Did you mean 'given'?") == (text == "givn")


def test_few_horizons_stand_for_themselves():
    assert horizon_groups({3: 2, 1: 1, 8: 1}) == [(1, 1), (3, 3), (8, 8)]


@pytest.mark.parametrize("seed", range(5))
def test_many_horizons_are_in_groups_of_about_as_many_windows(seed):
    draw = np.random.RandomState(seed)
    horizons = draw.geometric(0.08, size=400).tolist()
    groups = horizon_groups(Counter(horizons))
    assert len(groups) <= 8
    # Every horizon is in one range, and ranges do not overlap.
    assert all(before[1] < after[0] for before, after in pairwise(groups))
    sizes = [sum(first <= horizon <= last for horizon in horizons) for first, last in groups]
    assert sum(sizes) == len(horizons)
    most_common = max(horizons.count(horizon) for horizon in set(horizons))
    assert all(abs(size - 50) <= most_common for size in sizes)
