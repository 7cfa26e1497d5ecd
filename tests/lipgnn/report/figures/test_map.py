"""The map of an extrapolation: what is in it, and where."""

import math
import re

import numpy as np
import pytest

from lipgnn.report.figures.canvas import SUFFIXES
from lipgnn.report.figures.map import bar_length, centre, draw_map, projected

PLACES = np.array([[6.60, 46.50], [6.61, 46.50], [6.62, 46.51], [6.63, 46.52], [7.5, 46.9]])
EDGES = np.array([[0, 1, 1, 2, 2, 3, 3], [1, 0, 2, 1, 3, 2, 4]])


def found(**values):
    """Two observations, three ends, a sample and the truth."""
    return {
        "steps": 2,
        "prefix": [[{"node": 0, "weight": 1.0}], [{"node": 0, "weight": 0.25}, {"node": 1, "weight": 0.75}]],
        "ends": [{"node": node, "probability": p} for node, p in ((3, 0.9), (1, 0.08), (4, 0.02))],
        "samples": [{"nodes": [1, 2, 3]}],
        "truth": {"nodes": [1, 2, 3], "target": [{"node": 3, "weight": 1.0}]},
        **values,
    }


def text_of(**values):
    return draw_map(found(**values), PLACES, EDGES, "lausanne, $x", "svg").decode()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_numbers_give_the_same_bytes(suffix):
    first, second = (draw_map(found(), PLACES, EDGES, "title", suffix) for _ in range(2))
    assert first == second
    assert first.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix])


def test_everything_is_named():
    text = text_of()
    for words in ("lausanne, $x", "observed, 1 to 2", "true path and target", "sample", "probability after 2 steps"):
        assert f">{words}<" in text
    assert ">1<" in text and ">2<" in text


def test_what_is_not_known_is_not_named():
    text = text_of(samples=[], truth=None, steps=1)
    assert "true path" not in text and "sample" not in text
    assert ">probability after 1 step<" in text


def test_a_single_place_can_be_drawn():
    still = [[{"node": 0, "weight": 1.0}]]
    assert text_of(prefix=still, ends=[{"node": 0, "probability": 1.0}], samples=[], truth=None, steps=0)


def test_degrees_become_metres_by_the_haversine():
    """Within a thousandth, over a few kilometres; an independent formula of the distance on a ball."""
    unit, places = projected(PLACES[:4])
    assert unit == "m"
    for one, other in ((0, 3), (0, 1), (1, 2)):
        (a, b), (c, d) = np.radians(PLACES[one]), np.radians(PLACES[other])
        half = math.sin((d - b) / 2) ** 2 + math.cos(b) * math.cos(d) * math.sin((c - a) / 2) ** 2
        length = 2 * 6_371_000 * math.asin(math.sqrt(half))
        assert np.linalg.norm(places[one] - places[other]) == pytest.approx(length, rel=1e-3)


def test_the_unit_square_is_left_as_it_is():
    square = np.array([[0.0, 0.5], [1.0, 0.25]])
    unit, places = projected(square)
    assert unit is None and places is square


@pytest.mark.parametrize("width, length", [(1000, 200), (4000, 1000), (81, 20), (0.7, 0.1), (2.4, 0.5)])
def test_the_bar_has_a_round_length_of_at_most_a_quarter(width, length):
    assert bar_length(width) == pytest.approx(length)


def test_the_scale_is_written_in_metres_or_kilometres():
    assert " m<" in text_of() or " km<" in text_of()


def test_the_place_of_an_observation_is_the_mean_of_its_nodes():
    place = centre(found()["prefix"][1], PLACES)
    np.testing.assert_allclose(place, 0.25 * PLACES[0] + 0.75 * PLACES[1])


@pytest.mark.parametrize("count, strength", [(1, "0.8"), (20, "0.5")])
def test_the_legend_shows_samples_as_strong_as_they_are_drawn(count, strength):
    drawn = re.findall(r"style=\"([^\"]*stroke: #7a5195[^\"]*)\"", text_of(samples=[{"nodes": [1, 2, 3]}] * count))
    assert len(drawn) == count + 1
    assert all(f"stroke-opacity: {strength};" in f"{style};" for style in drawn)
