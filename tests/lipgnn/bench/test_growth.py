import numpy as np
import pytest
from scipy.stats import linregress

from lipgnn.bench.growth import fit_power, growth
from lipgnn.bench.measurements import Measurement

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


def measured(what, power, places):
    """Costs 0.5 · size^power, by whatever the places say the size is."""
    place = {"nodes": 100, "edges": 1000, "heads": 8, "width": 8, "layers": 1}
    return [
        Measurement(bench="attention", what=what, norm="lip", ms=0.5 * size**power, **{**place, **fields})
        for size, fields in places
    ]


@pytest.mark.parametrize(
    "axis, places",
    [
        ("edges", [(n, {"edges": n}) for n in (200, 400, 800)]),
        ("nodes", [(n, {"nodes": n}) for n in (20, 40, 80)]),
        ("size", [(n, {"edges": n, "nodes": n // 10}) for n in (200, 400, 800)]),
        ("heads", [(n, {"heads": n}) for n in (2, 4, 8)]),
        ("width", [(n, {"width": n}) for n in (8, 16, 32)]),
        ("layers", [(n, {"layers": n}) for n in (5, 10, 20)]),
    ],
)
def test_what_alone_varies_is_what_the_cost_grows_with(axis, places):
    """The fit is exact: sizes, times and candidates are not mixed up."""
    fits = {fit.what: fit for fit in growth(measured("dgl", 1.0, places) + measured("fused", 2.0, places))}
    assert fits.keys() == {"dgl", "fused"} and {fit.against for fit in fits.values()} == {axis}
    assert fits["dgl"].exponent == pytest.approx(1.0) and fits["fused"].exponent == pytest.approx(2.0)
    assert fits["dgl"].stderr == pytest.approx(0, abs=1e-6)
    assert (fits["dgl"].ms, fits["dgl"].low, fits["dgl"].norm) == (None, None, "lip")
    assert getattr(fits["dgl"], "edges" if axis == "size" else axis) is None


def test_two_of_a_kind_are_a_grid_of_their_own():
    """Of a product of depths and widths every width has its power of the depth; two widths are too few for one."""
    product = [(layers * width, {"layers": layers, "width": width}) for layers in (5, 10, 20) for width in (8, 64)]
    fits = list(growth(measured("dgl", 1.0, product)))
    assert [(fit.against, fit.width) for fit in fits] == [("layers", 8), ("layers", 64)]


def test_memory_and_ratios_have_no_growth():
    places = [(n, {"layers": n}) for n in (5, 10, 20)]
    untimed = [Measurement(bench="train", what="dgl", layers=n, peak_mb=1.0, ratio=2.0) for n, _ in places]
    assert list(growth(untimed)) == []
    assert list(growth(measured("dgl", 1.0, places[:2]))) == []
