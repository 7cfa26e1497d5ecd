"""What holds for every figure, whatever it shows."""

import pytest

from lipgnn.report.figures import FIGURES
from lipgnn.report.figures.canvas import SUFFIXES
from lipgnn.report.figures.figure import Figure, draw, rows_of
from lipgnn.report.figures.panel import Panel, Point, Series
from lipgnn.report.figures.profile import Course
from lipgnn.report.table.layout import SHOWN
from lipgnn.results.recordings import RECORDS, record_of

STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture
def data():
    """Panels that every figure can draw: a course is a point, labels are layers, and both axes have a name."""
    points = [Course(2, 0.7, 0.01, 3, 0, 0.1, 0.0, 0.9), Course(30, 0.6, None, 1, 0, 0.2, 0.1, 0.8)]
    series = [Series("1", points), Series("2", points[:1])]
    return [Panel(f"panel {number}", series, ("feat_mu", "test_score")) for number in range(4)]


@pytest.mark.parametrize("name", FIGURES)
def test_every_format_is_what_it_says_and_the_same_each_time(name, data):
    assert set(SUFFIXES) == set(STARTS)
    for suffix, start in STARTS.items():
        first = draw(FIGURES[name], data, "rank1", suffix)
        assert first.startswith(start)
        assert draw(FIGURES[name], data, "rank1", suffix) == first


@pytest.mark.parametrize("name", FIGURES)
def test_every_panel_is_titled_and_every_point_a_row(name, data, texts):
    shown = texts(name, data, "rank1")
    assert {f"panel {number}" for number in range(4)} <= set(shown)
    rows = rows_of(FIGURES[name], data)
    assert [row["panel"] for row in rows] == [f"panel {number}" for number in range(4) for _ in range(3)]
    assert [row["n"] for row in rows[:3]] == [3, 1, 3]
    assert all(list(row) == list(rows[0]) for row in rows)


@pytest.mark.parametrize("name", FIGURES)
def test_what_a_figure_needs_and_draws_by_default_is_what_runs_record(name):
    figure = FIGURES[name]
    assert figure.needs in (None, *RECORDS)
    assert figure.default_value(()) is None or record_of(figure.default_value(())) == figure.needs
    for value, caption in figure.captions:
        assert value is None or record_of(value) == figure.needs
        assert caption.endswith(".")


def test_a_study_s_recording_goes_before_the_usual_one():
    assert FIGURES["heat"].default_value(("similarity", "gradients")) == RECORDS["similarity"][0]
    assert FIGURES["profile"].default_value(("gradients",)) == RECORDS["gradients"][0]
    assert FIGURES["scatter"].default_value(("similarity",)) is None


def test_what_a_figure_does_not_say_is_the_plain_case(panels):
    """A class with data and drawing alone: no recording, a height of its own for every panel, on no page."""

    class Toy(Figure):
        def panels(self, table, results, value):
            return panels()

        def draw(self, canvas, panels):
            for axes in canvas.places:
                axes.set_xlabel(canvas.axis())

    toy = Toy()
    assert (toy.needs, toy.same_height, tuple(toy.captions)) == (None, None, ())
    assert toy.default_value(("gradients",)) is None
    assert b"validation accuracy (%)" in draw(toy, toy.panels(None, None, ""), "val_score", "svg", ["accuracy"])
    assert rows_of(toy, [Panel("p", [Series("s", [Point(1, 0.5, None, 2)])])]) == [
        {"panel": "p", "series": "s", "x": 1, "y": 0.5, "std": None, "n": 2}
    ]


def test_foreign_names_are_drawn_as_they_are(panels, texts):
    names = ("$x$ & <b>", "$\\broken", "中文", "_hidden")
    assert set(names) <= set(texts("depth", panels(labels=names), "test_score"))


def test_every_value_of_a_table_has_words_for_its_axis(panels, texts):
    for value in SHOWN:
        assert not any("_" in text for text in texts("depth", panels(), value))
