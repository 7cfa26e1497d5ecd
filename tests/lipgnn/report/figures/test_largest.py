import pytest

from lipgnn.errors import UsageError
from lipgnn.report.figures import FIGURES
from lipgnn.report.figures.figure import rows_of, sheet_of
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout
from lipgnn.results.recordings import GRADIENTS, write_recording
from lipgnn.results.rows import Results, read_results
from lipgnn.results.store import Store

LARGEST = FIGURES["largest"]
LAYOUT = Layout(rows=("norm",), cols=("dataset",))


def panels_from(source, value="weight_norm"):
    results = read_results([source])
    return LARGEST.panels(build_table(results.rows, LAYOUT), results, value)


def test_largest_is_over_the_layers(recorded):
    (panel,) = panels_from(recorded.root, "input_norm")
    assert (panel.title, [series.label for series in panel.series]) == ("cora", ["none", "lip"])
    place = 2 ** GRADIENTS.index("input_norm")
    assert [10**point.y for point in panel.series[1].points] == pytest.approx([3 * place * e for e in range(1, 5)])
    assert list(rows_of(LARGEST, [panel])[0]) == ["panel", "series", "epoch", "log10", "std", "n"]


def test_a_diverged_run_counts_as_far_as_it_came(recorded_runs, arrays_of, write_store, tmp_path):
    """The one that explodes is the one to be seen."""
    runs = recorded_runs
    runs = [runs[0], runs[1] | {"status": "diverged", "epochs_run": 2, "diverged_at": "output of the loss"}]
    runs.append(runs[0] | {"run_id": "0" * 12, "seed": 2, "status": "diverged", "epochs_run": 0})
    store = Store(write_store(tmp_path / "results", runs))
    for run in runs[:2]:
        write_recording(store.run(run["run_id"]).recording_path("gradients"), arrays_of(run, run["epochs_run"]))
    (panel,) = panels_from(store.root)
    assert [point.n for point in panel.series[0].points] == [2, 2, 1, 1]


def test_where_all_layers_are_zero_there_is_no_point(recorded, recorded_runs, arrays_of):
    arrays = arrays_of(recorded_runs[0])
    arrays["weight_norm"][2, 0] = 0
    arrays["weight_norm"][3] = 0
    write_recording(recorded.run(recorded_runs[0]["run_id"]).recording_path("gradients"), arrays)
    assert [point.x for point in panels_from(recorded.root)[0].series[0].points] == [1, 2, 3]


def test_nothing_is_nothing_to_draw(recorded_runs):
    table = build_table([recorded_runs[0] | {"epochs_run": 0}], LAYOUT)
    with pytest.raises(UsageError, match="nothing to draw"):
        LARGEST.panels(table, Results([], [], []), "weight_norm")


def test_the_largest_gradient_is_on_a_logarithmic_axis_with_plain_numbers(logarithms, texts):
    shown = texts("largest", logarithms(-3, 1), "weight_norm")
    for text in ("norm of weight gradient,", "largest over layers", "epoch", "0.001", "10"):
        assert text in shown
    assert not any("$" in text for text in shown)
    assert "0.5" in texts("largest", logarithms(-0.5, 0.1), "weight_norm")


def test_epochs_are_numbered_by_whole_numbers(logarithms):
    axes = sheet_of(LARGEST, logarithms(-3, 1), "weight_norm").axes[0]
    assert all(float(tick).is_integer() for tick in axes.get_xticks())
