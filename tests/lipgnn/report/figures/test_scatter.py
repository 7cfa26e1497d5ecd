import math

import numpy as np
import pytest

from lipgnn.errors import UsageError
from lipgnn.report.figures import FIGURES
from lipgnn.report.figures.figure import rows_of, sheet_of
from lipgnn.report.figures.panel import Panel, Point, Series
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout
from lipgnn.results.recordings import SIMILARITY, write_recording
from lipgnn.results.rows import read_results
from lipgnn.results.store import Store

SCATTER = FIGURES["scatter"]
LAYOUT = Layout(rows=("residual",), cols=("dataset",))


def read(source):
    results = read_results([source])
    return SCATTER.panels(build_table(results.rows, LAYOUT), results, "test_score")


def test_scatter_has_a_dot_a_run_at_the_end_of_training(similar):
    panels = read(similar.root)
    assert [panel.axes for panel in panels] == [
        ("feat_mu", "test_score"),
        ("grad_mu", "test_score"),
        ("feat_mu", "grad_mu"),
    ]
    output = 10 * 100 * 2 ** SIMILARITY.index("feat_mu")
    dots = [[(point.x, point.y) for point in panel.series[0].points] for panel in panels]
    # μ of the output is in the last column, that of the gradient in the first.
    features, gradients = [math.log10(output), math.log10(100 * output)], [1, 3]
    assert dots[0] == [pytest.approx(dot) for dot in zip(features, [0.5, 0.6], strict=True)]
    assert dots[1] == [pytest.approx(dot) for dot in zip(gradients, [0.5, 0.6], strict=True)]
    assert dots[2] == [pytest.approx(dot) for dot in zip(features, gradients, strict=True)]
    assert rows_of(SCATTER, panels)[0] == {
        "panel": "cora",
        "series": "none",
        "x_is": "feat_mu",
        "x": pytest.approx(features[0]),
        "y_is": "test_score",
        "y": 0.5,
        "n": 1,
    }


def test_runs_that_came_to_nothing_have_no_dot(similar_runs, courses_of, write_store, tmp_path):
    """One diverged in its first epoch, one has an infinite gradient, one recorded nothing because it never ran."""
    similar_runs[0] |= {"status": "diverged", "epochs_run": 0}
    nothing = similar_runs[0] | {"run_id": "0" * 12, "seed": 2}
    store = Store(write_store(tmp_path / "results", [*similar_runs, nothing]))
    for run in similar_runs:
        arrays = courses_of(run)
        arrays["grad_mu"][3, 0] = np.inf if run is similar_runs[3] else 1
        write_recording(store.run(run["run_id"]).recording_path("similarity"), arrays)
    panels = read(store.root)
    assert [[len(series.points) for series in panel.series] for panel in panels] == [[1, 2], [1, 1], [1, 1]]


def test_a_run_that_recorded_nothing_is_named_with_what_to_do(similar_runs, similar):
    similar.run(similar_runs[1]["run_id"]).recording_path("similarity").unlink()
    with pytest.raises(UsageError, match=f"Run {similar_runs[1]['run_id']} has recorded no similarity"):
        read(similar.root)


def test_a_scatter_plot_names_the_axes_of_every_panel(texts):
    dots = [Series("none", [Point(-3.0, 0.5)]), Series("identity", [Point(2.0, 0.7), Point(2.1, 0.71)])]
    other = [Series("none", [Point(-3.0, 4.0)])]
    panels = [Panel("cora", dots, ("feat_mu", "test_score")), Panel("cora", other, ("feat_mu", "grad_mu"))]
    shown = texts("scatter", panels, "test_score")
    for text in ("test accuracy (%)", "spread of output, μ", "spread of first gradient, μ", "identity"):
        assert text in shown
    assert "100" in shown and "70" in shown


def test_runs_that_lie_close_together_still_have_numbers_on_their_axes():
    dots = [Series("none", [Point(math.log10(number), score) for number, score in ((2.2, 0.5), (2.7, 0.6))])]
    (axes,) = sheet_of(SCATTER, [Panel("cora", dots, ("feat_mu", "test_score"))], "test_score").axes
    low, high = axes.get_xlim()
    assert sum(low <= tick <= high for tick in axes.get_xticks()) >= 2
