"""Figures of panels that are made by hand, and what an SVG file says."""

import xml.etree.ElementTree as ElementTree

import pytest

from lipgnn.report.figures import FIGURES
from lipgnn.report.figures.figure import draw
from lipgnn.report.figures.panel import Panel, Point, Series


@pytest.fixture
def texts():
    """The texts of a figure that is drawn as SVG: texts("depth", panels, "test_score")."""

    def read(name, panels, value, metrics=("accuracy",)):
        root = ElementTree.fromstring(draw(FIGURES[name], panels, value, "svg", metrics))
        return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]

    return read


@pytest.fixture
def panels():
    """Panels of means at 2 and 30: panels(4, labels=("none", "lip"))."""

    def make(count=1, labels=("none", "lip")):
        points = [Point(2, 0.7, 0.01, 3), Point(30, 0.6, None, 1)]
        return [Panel(f"panel {number}", [Series(label, points) for label in labels]) for number in range(count)]

    return make


@pytest.fixture
def logarithms():
    """Two layers in two epochs and one layer in the second alone, as decimal logarithms: logarithms(low, high)."""

    def make(low, high):
        full = [Series(label, [Point(1, low, 0.5, 2), Point(2, high, None, 1)]) for label in ("1", "2")]
        return [Panel("none, cora", full), Panel("lip, cora", [Series("1", [Point(2, low, 0.1, 2)])])]

    return make


@pytest.fixture
def runs(result_row):
    """Two data sets, norms, depths and seeds; the score is the depth in percent and a tenth more for seed 1."""
    return [
        result_row(dataset=dataset, norm=norm, layers=layers, seed=seed, test_score=layers / 100 + seed / 10)
        for dataset in ("cora", "citeseer")
        for norm in ("none", "lip")
        for layers in (30, 4)
        for seed in (0, 1)
    ]
