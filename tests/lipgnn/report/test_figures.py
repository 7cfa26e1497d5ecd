import xml.etree.ElementTree as ElementTree

import pytest

from lipgnn.report.figures import COLOURS, LINES, MARKERS, draw
from lipgnn.report.layout import Layout
from lipgnn.report.series import Panel, Point, Series

LAYOUT = Layout(rows=("norm",), cols=("layers",))


def panels(count=1, labels=("none", "lip")):
    points = [Point(2, 0.7, 0.01, 3), Point(30, 0.6, None, 1)]
    return [Panel(f"panel {number}", [Series(label, points) for label in labels]) for number in range(count)]


def texts(svg):
    root = ElementTree.fromstring(svg)
    return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("kind", ["depth", "curve", "box"])
def test_a_figure_names_its_axes_panels_and_series(kind):
    shown = texts(draw(kind, panels(4), LAYOUT, "svg"))
    for text in ("test accuracy (%)", "panel 0", "panel 3", "none", "lip"):
        assert text in shown
    assert {"depth": "layers", "curve": "epoch", "box": "none"}[kind] in shown


@pytest.mark.parametrize("suffix, start", [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_every_format_is_what_it_says_and_the_same_each_time(suffix, start):
    first = draw("depth", panels(), LAYOUT, suffix)
    assert first.startswith(start)
    assert draw("depth", panels(), LAYOUT, suffix) == first


def test_losses_are_not_percent():
    shown = texts(draw("depth", panels(), Layout(rows=("norm",), cols=("layers",), value="val_loss"), "svg"))
    assert "validation loss" in shown


def test_series_differ_by_more_than_colour():
    looks = [(COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)], LINES[i % len(LINES)]) for i in range(72)]
    assert len(set(looks)) == 72
    # In print without colour, marker and line still tell any nine neighbours apart.
    assert len({look[1:] for look in looks[:36]}) == 36


def test_foreign_names_are_drawn_as_they_are():
    names = ("$x$ & <b>", "$\\broken", "中文", "_hidden")
    shown = texts(draw("depth", panels(labels=names), LAYOUT, "svg"))
    assert set(names) <= set(shown)
