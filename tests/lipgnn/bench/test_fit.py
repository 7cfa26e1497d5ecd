import numpy as np
import pytest
from scipy.stats import linregress

from lipgnn.bench.fit import fit_power

SIZES = [1000, 2000, 4000, 8000, 16_000]


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_a_pure_power_is_found_exactly(exponent):
    fit = fit_power(SIZES, [3e-3 * size**exponent for size in SIZES])
    assert fit.exponent == pytest.approx(exponent, abs=1e-12)
    assert fit.stderr == pytest.approx(0, abs=1e-7)


def test_exponent_and_error_are_those_of_scipy():
    costs = [1.1, 1.9, 4.4, 7.5, 17.0]
    expected = linregress(np.log(SIZES), np.log(costs))
    assert fit_power(SIZES, costs) == pytest.approx((expected.slope, expected.stderr))


def test_two_points_leave_no_error():
    assert fit_power([1, 2], [1.0, 4.0]) == (2.0, None)
