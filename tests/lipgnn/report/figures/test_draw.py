import math
import xml.etree.ElementTree as ElementTree

import pytest

from lipgnn.report.figures.draw import COLOURS, LINES, MARKERS, _grid, draw
from lipgnn.report.figures.profiles import Course
from lipgnn.report.figures.series import Panel, Point, Series


def panels(count=1, labels=("none", "lip")):
    points = [Point(2, 0.7, 0.01, 3), Point(30, 0.6, None, 1)]
    return [Panel(f"panel {number}", [Series(label, points) for label in labels]) for number in range(count)]


def texts(svg):
    root = ElementTree.fromstring(svg)
    return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("kind", ["depth", "curve", "box"])
def test_a_figure_names_its_axes_panels_and_series(kind):
    shown = texts(draw(kind, panels(4), "test_score", "svg"))
    for text in ("test accuracy (%)", "panel 0", "panel 3", "none", "lip"):
        assert text in shown
    assert {"depth": "layers", "curve": "epoch", "box": "none"}[kind] in shown


def logarithms(low, high):
    """Two layers in two epochs and one layer in the second alone, as decimal logarithms."""
    full = [Series(label, [Point(1, low, 0.5, 2), Point(2, high, None, 1)]) for label in ("1", "2")]
    return [Panel("none, cora", full), Panel("lip, cora", [Series("1", [Point(2, low, 0.1, 2)])])]


def test_a_heat_map_names_what_its_colours_mean():
    shown = texts(draw("heat", logarithms(-3, 1), "input_max", "svg"))
    for text in ("none, cora", "lip, cora", "layer", "epoch", "log10 largest entry of input gradient"):
        assert text in shown


def test_a_heat_map_has_layers_upwards_epochs_to_the_right_and_one_scale(monkeypatch):
    """The arrays and limits that matplotlib is handed."""
    from matplotlib.axes import Axes

    handed = []
    original = Axes.imshow

    def watched(axes, grid, **options):
        handed.append((grid.tolist(), options["extent"], options["origin"], options["norm"].vmin, options["norm"].vmax))
        return original(axes, grid, **options)

    monkeypatch.setattr(Axes, "imshow", watched)
    draw("heat", logarithms(-3, 1), "weight_norm", "png")
    assert handed == [
        ([[-3, 1], [-3, 1]], (0.5, 2.5, 0.5, 2.5), "lower", -3, 1),
        ([[-3]], (1.5, 2.5, 0.5, 1.5), "lower", -3, 1),
    ]


def test_where_a_heat_map_has_no_number_nothing_is_made_up():
    grid, epochs = _grid(Panel("none", [Series("1", [Point(e, 0.0) for e in (1, 2, 4)]), Series("2", [])]))
    assert list(epochs) == [1, 2, 3, 4]
    assert grid.tolist() == [
        [0, 0, pytest.approx(math.nan, nan_ok=True), 0],
        [pytest.approx(math.nan, nan_ok=True)] * 4,
    ]


def test_a_heat_map_of_every_fourth_epoch_has_no_gaps():
    grid, epochs = _grid(Panel("none", [Series("1", [Point(e, float(e)) for e in (1, 5, 9)])]))
    assert (list(epochs), grid.tolist()) == ([1, 5, 9], [[1, 5, 9]])


def test_the_largest_gradient_is_on_a_logarithmic_axis_with_plain_numbers():
    shown = texts(draw("largest", logarithms(-3, 1), "weight_norm", "svg"))
    for text in ("norm of weight gradient,", "largest over layers", "epoch", "0.001", "10"):
        assert text in shown
    assert not any("$" in text for text in shown)
    assert "0.5" in texts(draw("largest", logarithms(-0.5, 0.1), "weight_norm", "svg"))


def test_a_heat_map_of_similarity_begins_at_layer_0(monkeypatch):
    from matplotlib.axes import Axes

    extents = []
    original = Axes.imshow
    monkeypatch.setattr(Axes, "imshow", lambda *a, **o: extents.append(o["extent"]) or original(*a, **o))
    columns = [Series(str(layer), [Point(0, 1.0), Point(1, 2.0)]) for layer in (0, 1, 2)]
    shown = texts(draw("heat", [Panel("none", columns)], "feat_mu", "svg"))
    assert extents == [(-0.5, 1.5, -0.5, 2.5)]
    assert "log10 similarity μ of features" in shown


def courses():
    """A series whose end is not known in the first layer, and one that is known in a single layer."""
    first = [Course(0, math.nan, None, 2, -3.0, -3.0, 1.0), Course(1, 1.0, None, 2, 0.5, 0.0, 2.0)]
    return [Panel("gat, cora", [Series("relu", first), Series("tanh", [Course(1, 0.0, None, 1, 0.0, 0.0, 0.0)])])]


def test_a_profile_draws_the_start_dashed_the_end_solid_and_the_range_shaded(monkeypatch):
    from matplotlib.axes import Axes

    lines, shades = [], []
    plot, fill = Axes.plot, Axes.fill_between

    def watched(axes, xs, ys, **style):
        lines.append((list(xs), [pytest.approx(y, nan_ok=True) for y in ys], style["linestyle"], style["color"]))
        return plot(axes, xs, ys, **style)

    monkeypatch.setattr(Axes, "plot", watched)
    monkeypatch.setattr(Axes, "fill_between", lambda axes, *of, **o: shades.append(of) or fill(axes, *of, **o))
    shown = texts(draw("profile", courses(), "grad_mu", "svg"))
    assert lines[:2] == [
        ([0, 1], [1e-3, 10**0.5], "--", COLOURS[0]),
        ([0, 1], [math.nan, 10.0], "-", COLOURS[0]),
    ]
    assert [line[3] for line in lines[2:]] == [COLOURS[1]] * 2
    assert [list(map(list, of)) for of in shades] == [[[0, 1], [1e-3, 1], [10, 100]], [[1], [1], [1]]]
    for text in (
        "gat, cora",
        "layer",
        "similarity μ of gradient",
        "relu",
        "tanh",
        "start of training",
        "end of training",
    ):
        assert text in shown


def test_a_profile_of_a_single_moment_names_no_start_and_no_end_and_counts_layers_in_whole_numbers():
    once = [Course(layer, -1.0, None, 2, -1.0, -1.0, -1.0) for layer in range(4)]
    shown = texts(draw("profile", [Panel("gat", [Series("relu", once)])], "grad_mu", "svg"))
    assert "relu" in shown
    assert not any("training" in text for text in shown)
    assert {"0", "1", "2", "3"} <= set(shown) and not any(text.endswith(".5") for text in shown)


def test_a_scatter_plot_names_the_axes_of_every_panel():
    dots = [Series("none", [Point(-3.0, 0.5)]), Series("identity", [Point(2.0, 0.7), Point(2.1, 0.71)])]
    other = [Series("none", [Point(-3.0, 4.0)])]
    panels = [Panel("cora", dots, ("feat_mu", "test_score")), Panel("cora", other, ("feat_mu", "grad_mu"))]
    shown = texts(draw("scatter", panels, "test_score", "svg"))
    for text in ("test accuracy (%)", "μ of the output", "μ of the first layer's gradient", "identity"):
        assert text in shown
    assert "100" in shown and "70" in shown


@pytest.mark.parametrize("kind, suffix", [("heat", "png"), ("heat", "svg"), ("largest", "pdf")])
def test_recorded_gradients_give_the_same_bytes_each_time(kind, suffix):
    first = draw(kind, logarithms(-3, 1), "weight_norm", suffix)
    assert draw(kind, logarithms(-3, 1), "weight_norm", suffix) == first


def test_a_profile_gives_the_same_bytes_each_time():
    assert draw("profile", courses(), "rank1", "png") == draw("profile", courses(), "rank1", "png")


@pytest.mark.parametrize("suffix, start", [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_every_format_is_what_it_says_and_the_same_each_time(suffix, start):
    first = draw("depth", panels(), "test_score", suffix)
    assert first.startswith(start)
    assert draw("depth", panels(), "test_score", suffix) == first


@pytest.mark.parametrize("deepest, scale", [(35, "linear"), (256, "log")])
def test_depths_that_lie_far_apart_are_on_a_logarithmic_axis(monkeypatch, deepest, scale):
    from matplotlib.figure import Figure

    scales = []
    original = Figure.savefig

    def watched(figure, *arguments, **options):
        scales.extend(axes.get_xscale() for axes in figure.axes)
        return original(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", watched)
    points = [Point(depth, 0.7) for depth in (2, 8, deepest)]
    both = [Panel("pubmed", [Series("lip", points[:2])]), Panel("cora", [Series("lip", points)])]
    shown = texts(draw("depth", both, "test_score", "svg"))
    assert scales == [scale] * 2, "alike, so that panels can be compared"
    assert {"2", "8", str(deepest)} <= {*shown}


def test_losses_are_not_percent():
    shown = texts(draw("depth", panels(), "val_loss", "svg"))
    assert "validation loss" in shown


def test_series_differ_by_more_than_colour():
    looks = [(COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)], LINES[i % len(LINES)]) for i in range(72)]
    assert len(set(looks)) == 72
    # In print without colour, marker and line still tell any nine neighbours apart.
    assert len({look[1:] for look in looks[:36]}) == 36


def test_foreign_names_are_drawn_as_they_are():
    names = ("$x$ & <b>", "$\\broken", "中文", "_hidden")
    shown = texts(draw("depth", panels(labels=names), "test_score", "svg"))
    assert set(names) <= set(shown)
