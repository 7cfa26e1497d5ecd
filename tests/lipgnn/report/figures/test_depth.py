import math

import pytest

from lipgnn.errors import UsageError
from lipgnn.report.figures import FIGURES
from lipgnn.report.figures.figure import rows_of
from lipgnn.report.figures.panel import Panel, Point, Series
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout
from lipgnn.results.rows import Results

NOTHING = Results([], [], [])
DEPTH = FIGURES["depth"]


def panels_of(runs, cols=("dataset", "layers"), value="test_score", rows=("norm",)):
    return DEPTH.panels(build_table(runs, Layout(rows=rows, cols=cols, value=value)), NOTHING, value)


def test_depth_puts_layers_along_the_axis(runs):
    panels = panels_of(runs, cols=("layers", "dataset"))
    assert [panel.title for panel in panels] == ["cora", "citeseer"]
    assert [series.label for series in panels[0].series] == ["none", "lip"]
    first, last = panels[0].series[0].points
    assert (first.x, first.y, first.n, last.x) == (4, pytest.approx(0.09), 2, 30)
    assert first.std == pytest.approx(0.1 / 2**0.5)
    assert rows_of(DEPTH, panels)[0] == {
        "panel": "cora",
        "series": "none",
        "layers": 4,
        "y": first.y,
        "std": first.std,
        "diverged": 0,
        "n": 2,
    }
    assert panels[0].fields == ("norm",)


def test_depths_at_which_runs_diverged_are_marked(runs, texts):
    lost = {"status": "diverged", "test_score": None}
    runs = [run | (lost if run["layers"] == 30 and (run["norm"], run["seed"]) != ("lip", 0) else {}) for run in runs]
    panels = panels_of(runs)
    none, lip = (series.points[-1] for series in panels[0].series)
    assert math.isnan(none.y) and (none.n, none.diverged) == (0, 2)
    assert (lip.y, lip.n, lip.diverged) == (0.3, 1, 1)
    assert [row["y"] for row in rows_of(DEPTH, panels)][1] is None
    assert {"all runs diverged", "some runs diverged"} <= set(texts("depth", panels, "test_score"))


def test_depth_without_layers_says_what_to_do(runs):
    with pytest.raises(UsageError, match="needs layers among the columns"):
        panels_of(runs, rows=("norm", "layers"), cols=("dataset",))


def test_nothing_done_is_nothing_to_draw(runs):
    with pytest.raises(UsageError, match="nothing to draw"):
        panels_of([run | {"status": "diverged", "test_score": None} for run in runs])


def test_depth_shows_no_mean_of_those_alone_that_came_to_it(runs):
    """It would lie below what the others would have made of it."""
    runs = [run | {"epochs_to_90": None if (run["layers"], run["seed"]) == (30, 1) else 10} for run in runs]
    for panel in panels_of(runs, value="epochs_to_90"):
        assert [[point.x for point in series.points] for series in panel.series] == [[4], [4]]


def test_panels_of_several_metrics_say_which(runs):
    mixed = [run | {"metric": "roc-auc" if run["dataset"] == "cora" else "accuracy"} for run in runs]
    assert [panel.title for panel in panels_of(mixed)] == ["cora (ROC-AUC)", "citeseer (accuracy)"]


def test_the_figure_names_its_axes_panels_and_series(panels, texts):
    shown = texts("depth", panels(4), "test_score")
    assert {"test accuracy (%)", "layers", "panel 0", "panel 3", "none", "lip"} <= set(shown)
    assert "validation loss" in texts("depth", panels(), "val_loss")


@pytest.mark.parametrize("deepest, scale", [(35, "linear"), (256, "log")])
def test_depths_that_lie_far_apart_are_on_a_logarithmic_axis(monkeypatch, texts, deepest, scale):
    from matplotlib.figure import Figure

    scales = []
    original = Figure.savefig

    def watched(figure, *arguments, **options):
        scales.extend(axes.get_xscale() for axes in figure.axes)
        return original(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", watched)
    points = [Point(depth, 0.7) for depth in (2, 8, deepest)]
    both = [Panel("pubmed", [Series("lip", points[:2])]), Panel("cora", [Series("lip", points)])]
    shown = texts("depth", both, "test_score")
    assert scales == [scale] * 2, "alike, so that panels can be compared"
    assert {"2", "8", str(deepest)} <= {*shown}
