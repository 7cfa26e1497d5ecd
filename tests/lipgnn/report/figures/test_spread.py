"""Deviations and diverged runs, as they are on the axes."""

import math

import pytest

from lipgnn.report.figures.panel import Point
from lipgnn.report.figures.spread import SHADES, Spread
from lipgnn.report.figures.style import in_print, look


@pytest.fixture
def drawn():
    """A series of points on axes of its own, one of `series`, and its Spread: drawn(points, series)."""
    from matplotlib.figure import Figure

    def draw(points, series, aside=0.0):
        with in_print("test"):
            sheet = Figure()
            axes, spread = sheet.subplots(), Spread(sheet, series)
            spread.draw(axes, points, lambda y: 100 * y, look(0), "deviation", aside=aside)
            spread.mark_diverged(axes, [(points, look(0)), (points, look(1))])
            return axes, [handle.get_label() for handle in spread.explanations()]

    return draw


POINTS = [Point(2, 0.7, 0.1, 3), Point(4, 0.6, 0.2, 3)]


def test_few_series_are_shaded(drawn):
    axes, told = drawn(POINTS, SHADES)
    ys = {round(float(y), 6) for y in axes.collections[0].get_paths()[0].vertices[:, 1]}
    assert ys == {60, 80, 40} and told == ["deviation"]


def test_many_series_have_bars_beside_each_other_within_the_limits(drawn):
    axes, told = drawn(POINTS, SHADES + 1, aside=0.5)
    ends = sorted(sorted(round(float(y), 6) for y in path.vertices[:, 1]) for path in axes.collections[0].get_paths())
    assert ends == [[40, 80], [60, 80]] and told == ["deviation"]
    low, high = axes.get_ylim()
    assert low < 40 and high > 80 and axes.get_xlim()[0] < 2
    # Moved on paper by half of ten points, whatever the axis is.
    moved = axes.lines[0].get_transform().transform((2, 70)) - axes.transData.transform((2, 70))
    assert moved[0] == pytest.approx(5 / 72 * axes.figure.dpi) and moved[1] == pytest.approx(0)


@pytest.mark.parametrize("points", [POINTS[:1], [*POINTS[:1], Point(4, math.nan, None, 0, 3)]])
def test_a_single_mean_has_a_bar_because_a_shade_would_have_no_width(drawn, points):
    axes, told = drawn(points, 1)
    ends = [sorted(round(float(y), 6) for y in path.vertices[:, 1]) for path in axes.collections[0].get_paths()]
    assert ends[0] == [60, 80] and told[0] == "deviation"
    low, high = axes.get_ylim()
    assert low < 60 and high > 80


def test_the_legend_shows_the_bar_or_the_shade_that_is_drawn():
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    for points, shaded in ((POINTS, True), (POINTS[:1], False)):
        sheet = Figure()
        spread = Spread(sheet, 1)
        spread.draw(sheet.subplots(), points, lambda y: y, look(0), "deviation", aside=0)
        (told,) = spread.explanations()
        assert isinstance(told, Patch) == shaded


def test_many_long_series_are_lines_alone(drawn):
    points = [Point(x, 0.5, 0.1, 3) for x in range(40)]
    axes, told = drawn(points, SHADES + 1)
    assert not axes.collections and told == [] and len(axes.lines) == 1


def test_single_runs_have_no_deviation_and_none_is_explained(drawn):
    axes, told = drawn([Point(2, 0.7), Point(4, 0.6)], 1)
    assert not axes.collections and told == []


def test_crosses_of_two_series_at_one_place_stand_above_each_other(drawn):
    points = [Point(2, 0.7, None, 2, 1), Point(4, math.nan, None, 0, 3)]
    axes, told = drawn(points, 2)
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    assert [line.get_xdata()[0] for line in crosses] == [4, 4]
    assert crosses[0].get_ydata()[0] < crosses[1].get_ydata()[0] < 0.2
    (open_one,) = (line for line in axes.lines if line.get_markerfacecolor() == "white")
    assert (open_one.get_xdata()[0], open_one.get_ydata()[0]) == (2, 70)
    assert told == ["some runs diverged", "all runs diverged"]


@pytest.mark.parametrize("count, told", [(1, "1 diverged run is not drawn"), (7, "7 diverged runs are not drawn")])
def test_runs_that_are_left_out_are_told(count, told):
    from matplotlib.figure import Figure

    assert [handle.get_label() for handle in Spread(Figure(), 1, count).explanations()] == [told]
