import json

import pytest

from lipgnn.errors import UsageError
from lipgnn.report.figures.series import labels, panels_of, records
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout
from lipgnn.results.rows import Results, read_results

NOTHING = Results([], [], [])


@pytest.fixture
def runs(result_row):
    return [
        result_row(dataset=dataset, norm=norm, layers=layers, seed=seed, test_score=layers / 100 + seed / 10)
        for dataset in ("cora", "citeseer")
        for norm in ("none", "lip")
        for layers in (30, 4)
        for seed in (0, 1)
    ]


def test_depth_puts_layers_along_the_axis(runs):
    table = build_table(runs, Layout(rows=("norm",), cols=("layers", "dataset")))
    panels = panels_of("depth", table, NOTHING)
    assert [panel.title for panel in panels] == ["cora", "citeseer"]
    assert [series.label for series in panels[0].series] == ["none", "lip"]
    first, last = panels[0].series[0].points
    assert (first.x, first.y, first.n, last.x) == (4, pytest.approx(0.09), 2, 30)
    assert first.std == pytest.approx(0.1 / 2**0.5)
    assert records("depth", panels)[0] == {
        "panel": "cora",
        "series": "none",
        "layers": 4,
        "y": first.y,
        "std": first.std,
        "n": 2,
    }


def test_depth_without_layers_says_what_to_do(runs):
    table = build_table(runs, Layout(rows=("norm", "layers"), cols=("dataset",)))
    with pytest.raises(UsageError, match="needs layers among the columns"):
        panels_of("depth", table, NOTHING)


def test_box_has_every_run(runs):
    table = build_table(runs, Layout(rows=("norm",), cols=("dataset", "layers")))
    panels = panels_of("box", table, NOTHING)
    assert [panel.title for panel in panels][:2] == ["cora, layers 4", "cora, layers 30"]
    assert [(point.x, point.y) for point in panels[0].series[0].points] == [("0", 0.04), ("1", pytest.approx(0.14))]


def test_curve_averages_the_runs_that_reached_an_epoch(runs, write_store, tmp_path):
    runs = [run for run in runs if (run["dataset"], run["layers"]) == ("cora", 4)]
    write_store(tmp_path, runs)
    results = read_results([tmp_path])
    for run in runs:
        lines = [{"epoch": epoch, "test_score": epoch / 10 + run["seed"] / 5} for epoch in range(1, 3 + run["seed"])]
        log = "".join(json.dumps(line) + "\n" for line in lines)
        results.run(run["run_id"]).log_path.write_text(log + '{"epoch": 9, "tes')
    table = build_table(results.rows, Layout(rows=("norm",), cols=("dataset",)))
    (panel,) = panels_of("curve", table, results)
    points = [(point.x, point.n) for point in panel.series[0].points]
    assert points == [(1, 2), (2, 2), (3, 1)]
    assert panel.series[0].points[0].y == pytest.approx(0.2)


def test_curve_needs_logs_and_a_logged_value(runs):
    table = build_table(runs, Layout(rows=("norm",), cols=("dataset", "layers")))
    with pytest.raises(UsageError, match="has no log here"):
        panels_of("curve", table, NOTHING)
    table = build_table(runs, Layout(rows=("norm",), cols=("dataset", "layers"), value="seconds"))
    with pytest.raises(UsageError, match="Unknown value of a curve 'seconds'"):
        panels_of("curve", table, NOTHING)


def test_nothing_done_is_nothing_to_draw(runs):
    runs = [run | {"status": "diverged", "test_score": None} for run in runs]
    table = build_table(runs, Layout(rows=("norm",), cols=("dataset", "layers")))
    for kind in ("depth", "box"):
        with pytest.raises(UsageError, match="nothing to draw"):
            panels_of(kind, table, NOTHING)


def test_depth_shows_no_mean_of_those_alone_that_came_to_it(runs):
    """It would lie below what the others would have made of it."""
    runs = [run | {"epochs_to_90": None if (run["layers"], run["seed"]) == (30, 1) else 10} for run in runs]
    table = build_table(runs, Layout(rows=("norm",), cols=("dataset", "layers"), value="epochs_to_90"))
    for panel in panels_of("depth", table, NOTHING):
        assert [[point.x for point in series.points] for series in panel.series] == [[4], [4]]


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
