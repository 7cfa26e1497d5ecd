import pytest

from lipgnn.errors import UsageError
from lipgnn.report.figures import FIGURES
from lipgnn.report.figures.figure import rows_of, sheet_of
from lipgnn.report.figures.panel import Panel, Point, Series
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout
from lipgnn.results.rows import Results

NOTHING = Results([], [], [])


@pytest.fixture
def runs(result_row):
    """Two ways of sharing heads at two widths, two seeds; wider is larger, slower and better."""
    return [
        result_row(
            model="gt",
            head_sharing=sharing,
            shared_dim=width,
            seed=seed,
            parameters=100 * width,
            seconds_per_epoch=width / 1000 + seed / 100,
            test_score=width / 100 + seed / 10,
        )
        for sharing in ("mqa", "collab")
        for width in (8, 4)
        for seed in (0, 1)
    ]


def panels_of(figure, runs, rows=("head_sharing", "shared_dim")):
    table = build_table(runs, Layout(rows=rows, cols=("dataset",), value="test_score"))
    return FIGURES[figure].panels(table, NOTHING, "test_score")


def test_widths_of_one_kind_are_one_series_by_size(runs):
    (panel,) = panels_of("size", runs)
    assert {series.label for series in panel.series} == {"mqa", "collab"}
    for series in panel.series:
        assert [(point.x, point.y, point.n) for point in series.points] == [
            (400, pytest.approx(0.09), 2),
            (800, pytest.approx(0.13), 2),
        ]


def test_pace_lies_at_the_mean_seconds_of_an_epoch(runs):
    (panel,) = panels_of("pace", runs)
    assert [point.x for point in panel.series[0].points] == [pytest.approx(0.009), pytest.approx(0.013)]
    assert set(rows_of(FIGURES["pace"], [panel])[0]) == {"panel", "series", "seconds_per_epoch", "y", "std", "n"}


def test_rows_of_sizes_alone_are_one_series(runs):
    runs = [run for run in runs if run["head_sharing"] == "mqa"]
    (panel,) = panels_of("size", runs, rows=("shared_dim",))
    assert [series.label for series in panel.series] == ["all"]


def test_a_run_of_no_epochs_has_no_pace(runs):
    """Networks that were compressed and not trained on."""
    with pytest.raises(UsageError, match="nothing to draw"):
        panels_of("pace", [run | {"seconds_per_epoch": None} for run in runs])


def test_the_axes_are_named_and_begin_at_nothing(panels, texts):
    shown = texts("size", panels(), "test_score")
    assert {"test accuracy (%)", "parameters", "none", "lip", "0"} <= set(shown)
    assert not any("$" in text for text in shown)
    assert "seconds per epoch" in texts("pace", panels(), "test_score")


def test_the_largest_network_has_room_for_its_whole_marker():
    """Also where all are of nearly one size, far from nothing."""
    points = [Point(1000, 0.5), Point(1010, 0.6)]
    (axes,) = sheet_of(FIGURES["size"], [Panel("cora", [Series("none", points)])], "test_score").axes
    assert axes.get_xlim() == (0, pytest.approx(1.05 * 1010))
