import pytest

from lipgnn.errors import UsageError
from lipgnn.report.figures.panel import (
    Panel,
    Point,
    Series,
    drawable,
    labels,
    means_by_epoch,
    panels_by_column,
    shown_fields,
    titles,
)
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout

LAYOUT = Layout(rows=("norm",), cols=("dataset", "layers"))


def test_there_is_a_panel_for_every_column_and_a_series_for_every_row_with_points(runs):
    table = build_table(runs, LAYOUT)
    points = {"none": [Point(1, 0.5)], "lip": []}
    panels = panels_by_column(table, "test_score", lambda cell: points[cell.spec["norm"]])
    assert [panel.title for panel in panels] == [
        "cora, layers 4",
        "cora, layers 30",
        "citeseer, layers 4",
        "citeseer, layers 30",
    ]
    assert all(panel.series == [Series("none", points["none"])] for panel in panels)
    assert all(panel.fields == ("norm",) and panel.left_out == 0 for panel in panels)


@pytest.mark.parametrize("drawn, left_out", [(False, 2), (True, 0)])
def test_runs_that_diverged_are_counted_where_they_are_not_drawn(runs, drawn, left_out):
    lost = [run | {"status": "diverged", "test_score": None} if run["dataset"] == "cora" else run for run in runs]
    table = build_table(lost, Layout(rows=("norm",), cols=("dataset",), over=("seed", "layers")))
    panels = panels_by_column(table, "test_score", lambda cell: [Point(1, 0.5)], diverged_drawn=drawn)
    assert [panel.left_out for panel in panels] == [4 * left_out, 0]


def test_panels_of_several_metrics_say_which(runs):
    mixed = [run | {"metric": "roc-auc" if run["dataset"] == "cora" else "accuracy"} for run in runs]
    table = build_table(mixed, LAYOUT)
    for value, names in (
        ("test_score", ["cora, layers 4 (ROC-AUC)", "citeseer, layers 4 (accuracy)"]),
        ("weight_norm", ["cora, layers 4", "citeseer, layers 4"]),
    ):
        panels = panels_by_column(table, value, lambda cell: [Point(1, 0.5)])
        assert [panel.title for panel in panels][::2] == names


def test_panels_without_points_are_not_drawn():
    full, empty = Panel("full", [Series("none", [Point(1, 0.5)])]), Panel("empty", [Series("none", [])])
    assert drawable([empty, full]) == [full]
    lost = Panel("lost", [Series("none", [Point(1, float("nan"), diverged=3)])])
    assert drawable([full, lost]) == [full, lost]
    for nothing in ([empty], [lost]):
        with pytest.raises(UsageError, match="nothing to draw"):
            drawable(nothing)


def test_means_are_of_the_runs_that_reached_an_epoch_with_a_number():
    (first, third) = means_by_epoch({3: [0.5], 1: [0.2, 0.4], 2: [0.1, float("nan")]})
    assert (first.x, first.y, first.n, first.std) == (1, pytest.approx(0.3), 2, pytest.approx(0.02**0.5))
    assert third == Point(3, 0.5, None, 1)


def test_labels_leave_out_what_all_share_and_say_of_what_there_is_none():
    names = ("model", "norm", "residual", "layers")
    keys = [("gat", "none", "none", 4), ("gat", "lip", "none", 8), ("gat", "lip", "identity", 8)]
    assert list(labels(names, keys).values()) == [
        "norm none, residual none, layers 4",
        "lip, residual none, layers 8",
        "lip, identity, layers 8",
    ]
    assert list(labels(("norm",), [("none",), ("lip",)]).values()) == ["none", "lip"]
    assert list(labels(("dataset", "mlp"), [("cora", "2x")]).values()) == ["cora, mlp 2x"]
    assert labels((), [()]) == {(): ""}


def test_titles_say_of_what_they_are_and_fields_are_those_of_the_labels():
    names, keys = ("dataset", "norm", "layers"), [("cora", "none", 4), ("cora", "lip", 4), ("texas", "lip", 4)]
    assert list(titles(names, keys).values()) == ["cora, norm none", "cora, norm lip", "texas, norm lip"]
    assert shown_fields(names, keys) == ("dataset", "norm")
    assert list(titles(names, keys[:1]).values()) == ["cora, norm none, layers 4"]
    assert shown_fields(names, keys[:1]) == names and titles((), [()]) == {(): ""}
