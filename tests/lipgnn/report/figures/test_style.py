import pytest

from lipgnn.report.figures.style import COLOURS, LINES, MARKERS, axis_words, in_print, look, use_decades
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
        ("rank1", [], "residual to rank one"),
    ],
)
def test_an_axis_is_named_in_words(value, metrics, words):
    assert axis_words(value, metrics) == words


def test_all_that_is_recorded_has_words_of_its_own():
    names = [name for names in RECORDS.values() for name in names]
    assert len({axis_words(name, []) for name in names}) == len(names)


@pytest.mark.parametrize(
    "low, high, labels",
    [
        (1e-3, 10, {"0.001", "0.01", "1"}),
        (1e-7, 1e5, {"1e-7", "1e5"}),
        (0.3, 3, {"0.5", "1", "2"}),
        (0.5, 0.8, {"0.6", "0.7"}),
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
