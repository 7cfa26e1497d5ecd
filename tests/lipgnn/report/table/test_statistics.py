import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lipgnn.report.table.statistics import mean, paired_difference, sample_std

accuracies = st.floats(0, 1, allow_subnormal=False)


@settings(deadline=None)
@given(st.lists(accuracies, min_size=2, max_size=30))
def test_mean_and_deviation_are_those_of_numpy(values):
    assert mean(values) == pytest.approx(np.mean(values), abs=1e-12)
    assert sample_std(values) == pytest.approx(np.std(values, ddof=1), abs=1e-12)


def test_one_value_has_no_deviation():
    assert sample_std([0.5]) is None
    assert sample_std([]) is None


@settings(deadline=None)
@given(st.lists(st.tuples(accuracies, accuracies), min_size=2, max_size=20))
def test_paired_difference_is_that_of_scipy(pairs):
    ours, baseline = dict(enumerate(a for a, _ in pairs)), dict(enumerate(b for _, b in pairs))
    found = paired_difference(ours, baseline)
    differences = np.array([a - b for a, b in pairs])
    assert found.n == len(pairs)
    assert found.mean == pytest.approx(differences.mean(), abs=1e-12)
    if differences.std() < 1e-9:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = stats.ttest_rel(*zip(*pairs, strict=True))
    interval = expected.confidence_interval(0.95)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-6, abs=1e-12)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-6, abs=1e-9)


def test_only_common_keys_are_paired():
    found = paired_difference({1: 0.8, 2: 0.7, 3: 0.9}, {2: 0.6, 3: 0.6, 4: 0.1})
    assert (found.n, found.mean) == (2, pytest.approx(0.2))
    assert paired_difference({1: 0.8}, {2: 0.7}) is None


def test_no_interval_from_one_pair_or_from_no_spread():
    assert paired_difference({1: 0.8}, {1: 0.7}).p is None
    same = paired_difference({1: 0.8, 2: 0.7, 3: 0.6}, {1: 0.7, 2: 0.6, 3: 0.5})
    assert (same.mean, same.low, same.high, same.p, same.n) == (pytest.approx(0.1), None, None, None, 3)
