import math
from itertools import pairwise

import pytest

from lipgnn.report.figures.style import (
    COLOURS,
    LINES,
    MARKERS,
    axis_words,
    decades,
    in_print,
    look,
    use_decades,
    use_whole_numbers,
)
from lipgnn.results.recordings import RECORDS


def test_series_differ_by_more_than_colour():
    looks = [tuple(look(index).values()) for index in range(72)]
    assert len(set(looks)) == 72
    # In print without colour, marker and line still tell any nine neighbours apart.
    assert len({found[1:] for found in looks[:36]}) == 36
    assert looks[0] == (COLOURS[0], MARKERS[0], LINES[0])


def test_a_series_may_go_without_marker_or_with_another_line():
    assert look(1, marker=False) == {"color": COLOURS[1], "marker": None, "linestyle": LINES[1]}
    assert look(1, line="none") == {"color": COLOURS[1], "marker": MARKERS[1], "linestyle": "none"}


@pytest.mark.parametrize(
    "value, metrics, words",
    [
        ("test_score", ["accuracy"], "test accuracy (%)"),
        ("test_score", ["roc-auc"], "test ROC-AUC (%)"),
        ("test_score", ["accuracy", "roc-auc"], "test score (%)"),
        ("last_test_score", ["a metric of its own"], "last test a metric of its own (%)"),
        ("val_loss", ["accuracy"], "validation loss"),
        ("weight_max", [], "largest entry of weight gradient"),
        ("rank1", [], "residual to rank one (0: nodes alike)"),
        ("grad_mu", [], "spread of gradient over nodes, μ"),
    ],
)
def test_an_axis_is_named_in_words(value, metrics, words):
    assert axis_words(value, metrics) == words


def test_all_that_is_recorded_has_words_of_its_own():
    names = [name for names in RECORDS.values() for name in names]
    assert len({axis_words(name, []) for name in names}) == len(names)


@pytest.mark.parametrize(
    "low, high, ticks",
    [
        (1e-23, 1e19, [1e-20, 1e-10, 1.0, 1e10]),
        (2e-4, 3e2, [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0]),
        (0.3, 3, [0.5, 1.0, 2.0]),
        (0.5, 0.8, [0.5, 0.6, 0.7, 0.8]),
        (0.0, 1.0, []),
        (2.1, 2.9, [2.2, 2.4, 2.6, 2.8]),
        (2.1, 8.4, [4.0, 6.0, 8.0]),
        (1.21e-5, 1.28e-5, [1.22e-5, 1.24e-5, 1.26e-5, 1.28e-5]),
    ],
)
def test_ticks_are_round_numbers_within_the_axis_and_one_is_among_them(low, high, ticks):
    assert decades(low, high) == ticks


@pytest.mark.parametrize("span", [*range(2, 60, 3), 300])
@pytest.mark.parametrize("first", [-30.3, -7.0, 0.4])
def test_there_are_neither_too_few_ticks_nor_too_many(first, span):
    ticks = decades(10.0**first, 10.0 ** (first + span))
    assert 2 <= len(ticks) <= 8
    steps = {round(math.log10(b) - math.log10(a)) for a, b in pairwise(ticks)}
    assert len(steps) == 1


@pytest.mark.parametrize("first", [-7.3, -0.01, 0.4, 3.9])
@pytest.mark.parametrize("span", [1e-3, 0.02, 0.1, 0.3, 0.59, 0.61, 1.0, 1.99])
def test_there_are_two_numbers_at_least_on_a_short_axis(first, span):
    low, high = 10.0**first, 10.0 ** (first + span)
    ticks = decades(low, high)
    assert 2 <= len(ticks) <= 9
    assert ticks == sorted(set(ticks)) and low <= ticks[0] < ticks[-1] <= high


@pytest.mark.parametrize("places", ["x", "y", "xy"])
def test_whole_numbers_are_those_of_the_axes_asked_for(places):
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    axes.plot([1, 2, 3], [1, 2, 3])
    use_whole_numbers(axes, places)
    for place, ticks in (("x", axes.get_xticks()), ("y", axes.get_yticks())):
        assert all(float(tick).is_integer() for tick in ticks) == (place in places)


@pytest.mark.parametrize(
    "low, high, labels",
    [
        (1e-3, 10, {"0.001", "0.01", "1"}),
        (1e-7, 1e5, {"1e-6", "1", "1e4"}),
        (0.3, 3, {"0.5", "1", "2"}),
        (0.5, 0.8, {"0.6", "0.7"}),
        (0.55, 0.58, {"0.56", "0.57"}),
        (1.21e-5, 1.29e-5, {"1.24e-5", "1.26e-5"}),
    ],
)
def test_decades_are_written_as_plain_numbers(low, high, labels):
    from matplotlib.figure import Figure

    with in_print("test"):
        axes = Figure().subplots()
        axes.plot([1, 2], [low, high])
        use_decades(axes, "y")
        ticks = [axes.yaxis.get_major_formatter()(tick) for tick in axes.get_yticks()]
    assert labels <= set(ticks)
    assert not any("$" in tick for tick in ticks)
