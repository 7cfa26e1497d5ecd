import pytest

from lipgnn.report.figures.canvas import ACROSS, DEVIATION, SUFFIXES, Canvas
from lipgnn.report.figures.panel import Panel, Point, Series
from lipgnn.report.figures.style import in_print, look


@pytest.mark.parametrize("count, across, down", [(1, 1, 1), (3, 3, 1), (4, 2, 2), (7, 3, 3)])
def test_every_panel_has_its_place_and_there_are_no_others(panels, count, across, down):
    with in_print("test"):
        canvas = Canvas(panels(count), "test_score", ["accuracy"], same_height=False)
        assert across <= ACROSS
        assert (canvas.places[0].get_gridspec().nrows, canvas.places[0].get_gridspec().ncols) == (down, across)
        assert canvas.sheet.axes == canvas.places
        assert [axes.get_title() for axes in canvas.places] == [f"panel {number}" for number in range(count)]


@pytest.mark.parametrize("same", [True, False])
def test_heights_are_the_same_where_they_are_to_be(panels, same):
    with in_print("test"):
        canvas = Canvas(panels(2), "test_score", ["accuracy"], same_height=same)
        canvas.places[0].set_ylim(0, 5)
        assert (canvas.places[1].get_ylim() == (0, 5)) == same


def test_a_line_has_its_deviation_to_either_side(panels):
    with in_print("test"):
        canvas = Canvas(panels(), "test_score", ["accuracy"], same_height=False)
        canvas.lines(panels(), "layers", lambda y: 100 * y, look)
        (axes,) = canvas.places
        assert [line.get_ydata().tolist() for line in axes.lines] == [[70, 60]] * 2
        assert axes.get_xlabel() == "layers"
        ys = {round(float(y), 6) for y in axes.collections[0].get_paths()[0].vertices[:, 1]}
    # One deviation of 0.01 at the first point, none at the second.
    assert ys == {69, 71, 60}


def test_the_legend_names_the_fields_and_explains_what_is_drawn():
    points = [Point(2, 0.7, 0.01, 3), Point(4, 0.6, 0.02, 2, 1), Point(8, float("nan"), None, 0, 3)]
    data = [Panel("cora", [Series("none, layers 4", points)], fields=("norm", "layers"), left_out=2)]
    with in_print("test"):
        canvas = Canvas(data, "test_score", ["accuracy"], same_height=None)
        canvas.lines(data, "layers", lambda y: 100 * y, look)
        canvas.legend(look)
    (legend,) = canvas.sheet.legends
    assert legend.get_title().get_text() == "norm, layers"
    assert [text.get_text() for text in legend.get_texts()] == [
        "none, layers 4",
        DEVIATION,
        "some runs diverged",
        "all runs diverged",
        "2 diverged runs are not drawn",
    ]


@pytest.mark.parametrize(
    "ranges, same",
    [
        ([(0.70, 0.90), (0.10, 0.50)], True),
        ([(0.70, 0.78), (0.10, 0.90)], False),
    ],
)
def test_panels_share_an_axis_where_each_fills_enough_of_it(ranges, same):
    data = [Panel(str(n), [Series("a", [Point(1, low), Point(2, high)])]) for n, (low, high) in enumerate(ranges)]
    with in_print("test"):
        for metrics in (["accuracy"], ["accuracy", "roc-auc"]):
            canvas = Canvas(data, "test_score", metrics, same_height=None)
            canvas.lines(data, "layers", lambda y: y, look)
            canvas.share_heights()
            first, second = (axes.get_ylim() for axes in canvas.places)
            assert (first == second) == (same and len(metrics) == 1)
            # Whatever is drawn is within.
            for axes, (low, high) in zip(canvas.places, ranges, strict=True):
                assert axes.get_ylim()[0] < low and high < axes.get_ylim()[1]


def test_a_long_legend_does_not_take_from_the_panels(panels):
    with in_print("test"):
        short, long = panels(labels=["a"]), panels(labels=[f"a rather long name {number}" for number in range(12)])
        heights = []
        for data in (short, long):
            canvas = Canvas(data, "test_score", ["accuracy"], same_height=False)
            canvas.legend(look)
            heights.append(canvas.sheet.get_figheight())
            (legend,) = canvas.sheet.legends
            assert [text.get_text() for text in legend.get_texts()] == canvas.labels
    assert heights[1] > heights[0]


def test_a_file_has_no_date(panels):
    for suffix in SUFFIXES:
        with in_print("test"):
            content = Canvas(panels(), "test_score", ["accuracy"], same_height=False).content(suffix)
        assert b"CreationDate" not in content and b"<dc:date>" not in content
