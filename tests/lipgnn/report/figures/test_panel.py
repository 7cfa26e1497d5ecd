import pytest

from lipgnn.errors import UsageError
from lipgnn.report.figures.panel import (
    Panel,
    Point,
    Series,
    drawable,
    full_labels,
    labels,
    means_by_epoch,
    panels_by_column,
)
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout

LAYOUT = Layout(rows=("norm",), cols=("dataset", "layers"))


def test_there_is_a_panel_for_every_column_and_a_series_for_every_row_with_points(runs):
    table = build_table(runs, LAYOUT)
    points = {"none": [Point(1, 0.5)], "lip": []}
    panels = panels_by_column(table, "test_score", lambda cell: points[cell.spec["norm"]], full_labels)
    assert [panel.title for panel in panels] == [
        "cora, layers 4",
        "cora, layers 30",
        "citeseer, layers 4",
        "citeseer, layers 30",
    ]
    assert all(panel.series == [Series("none", points["none"])] for panel in panels)


def test_panels_of_several_metrics_say_which(runs):
    mixed = [run | {"metric": "roc-auc" if run["dataset"] == "cora" else "accuracy"} for run in runs]
    table = build_table(mixed, LAYOUT)
    for value, titles in (
        ("test_score", ["cora, layers 4 (ROC-AUC)", "citeseer, layers 4 (accuracy)"]),
        ("weight_norm", ["cora, layers 4", "citeseer, layers 4"]),
    ):
        panels = panels_by_column(table, value, lambda cell: [Point(1, 0.5)], full_labels)
        assert [panel.title for panel in panels][::2] == titles


def test_panels_without_points_are_not_drawn():
    full, empty = Panel("full", [Series("none", [Point(1, 0.5)])]), Panel("empty", [Series("none", [])])
    assert drawable([empty, full]) == [full]
    with pytest.raises(UsageError, match="nothing to draw"):
        drawable([empty])


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


def test_full_labels_have_all_fields():
    assert list(full_labels(("norm", "layers"), [("none", 4), ("none", 8)]).values()) == [
        "none, layers 4",
        "none, layers 8",
    ]
