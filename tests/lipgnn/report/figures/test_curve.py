import json

import pytest

from lipgnn.errors import DataError, UsageError
from lipgnn.report.figures import FIGURES
from lipgnn.report.figures.figure import rows_of
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout
from lipgnn.results.rows import Results, read_results

CURVE = FIGURES["curve"]


def test_curve_averages_the_runs_that_reached_an_epoch(runs, write_store, tmp_path):
    runs = [run for run in runs if (run["dataset"], run["layers"]) == ("cora", 4)]
    write_store(tmp_path, runs)
    results = read_results([tmp_path])
    for run in runs:
        lines = [{"epoch": epoch, "test_score": epoch / 10 + run["seed"] / 5} for epoch in range(1, 3 + run["seed"])]
        log = "".join(json.dumps(line) + "\n" for line in lines)
        results.run(run["run_id"]).log_path.write_text(log + '{"epoch": 9, "tes')
    table = build_table(results.rows, Layout(rows=("norm",), cols=("dataset",)))
    (panel,) = CURVE.panels(table, results, "test_score")
    points = [(point.x, point.n) for point in panel.series[0].points]
    assert points == [(1, 2), (2, 2), (3, 1)]
    assert panel.series[0].points[0].y == pytest.approx(0.2)
    assert list(rows_of(CURVE, [panel])[0]) == ["panel", "series", "epoch", "y", "std", "n"]


def test_curve_needs_logs_and_a_logged_value(runs):
    table = build_table(runs, Layout(rows=("norm",), cols=("dataset", "layers")))
    with pytest.raises(UsageError, match="has no log here"):
        CURVE.panels(table, Results([], [], []), "test_score")
    with pytest.raises(UsageError, match="Unknown value of a curve 'seconds'"):
        CURVE.panels(table, Results([], [], []), "seconds")


def test_a_log_without_the_value_is_named_with_its_line(runs, write_store, tmp_path):
    """As one that was changed by hand may be."""
    write_store(tmp_path, [run for run in runs if (run["dataset"], run["layers"]) == ("cora", 4)])
    results = read_results([tmp_path])
    for run in results.rows:
        results.run(run["run_id"]).log_path.write_text('{"epoch": 1, "test_score": 0.5}\n{"epoch": 2}\n')
    table = build_table(results.rows, Layout(rows=("norm",), cols=("dataset",)))
    with pytest.raises(DataError, match=r"Line 2 of .*log\.jsonl' has no test_score"):
        CURVE.panels(table, results, "test_score")


def test_the_figure_names_its_axes_panels_and_series(panels, texts):
    shown = texts("curve", panels(4), "test_score")
    assert {"test accuracy (%)", "epoch", "panel 0", "panel 3", "none", "lip"} <= set(shown)
