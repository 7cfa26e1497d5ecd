import math

import numpy as np
import pytest

from lipgnn.errors import UsageError
from lipgnn.report.figures import FIGURES
from lipgnn.report.figures.figure import rows_of, sheet_of
from lipgnn.report.figures.heat import _grid
from lipgnn.report.figures.panel import Panel, Point, Series
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout
from lipgnn.results.recordings import SIMILARITY, archive_recordings, write_recording
from lipgnn.results.rows import Results, read_results
from lipgnn.results.store import Store, to_csv

HEAT = FIGURES["heat"]
LAYOUT = Layout(rows=("norm",), cols=("dataset",))


def panels_from(source, value="weight_norm"):
    results = read_results([source])
    return HEAT.panels(build_table(results.rows, LAYOUT), results, value)


def test_heat_has_a_panel_for_every_cell_and_a_series_for_every_layer(recorded):
    panels = panels_from(recorded.root)
    assert [panel.title for panel in panels] == ["norm none", "norm lip"]
    assert [series.label for series in panels[0].series] == ["1", "2", "3"]
    for panel, base in zip(panels, (10, 1), strict=True):
        for layer, series in enumerate(panel.series, start=1):
            assert [(point.x, point.n) for point in series.points] == [(epoch, 2) for epoch in range(1, 5)]
            for point in series.points:
                # The geometric mean of 1 and 100 is 10.
                assert 10**point.y == pytest.approx(base * layer * point.x)
                assert point.std == pytest.approx(math.sqrt(2))


def test_every_point_is_a_row(recorded):
    first = rows_of(HEAT, panels_from(recorded.root))[0]
    assert first == {
        "panel": "norm none",
        "layer": "1",
        "epoch": 1,
        "log10": pytest.approx(1),
        "std": pytest.approx(math.sqrt(2)),
        "n": 2,
    }


def test_a_gradient_of_zero_has_no_logarithm_and_no_point(recorded, recorded_runs, arrays_of):
    arrays = arrays_of(recorded_runs[0])
    arrays["weight_norm"][2, 0] = 0
    arrays["weight_norm"][3] = 0
    write_recording(recorded.run(recorded_runs[0]["run_id"]).recording_path("gradients"), arrays)
    points = panels_from(recorded.root)[0].series
    assert [[point.x for point in series.points] for series in points] == [[1, 2], [1, 2, 3], [1, 2, 3]]


def test_archived_recordings_beside_a_table_draw_the_same(recorded, recorded_runs, tmp_path):
    ids = [run["run_id"] for run in recorded_runs]
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "gradients.csv").write_bytes(to_csv(recorded_runs))
    archive_recordings(recorded, ids, tmp_path / "clone" / "gradients")
    ours, theirs = (panels_from(source) for source in (recorded.root, tmp_path / "clone" / "gradients.csv"))
    for a, b in zip(rows_of(HEAT, ours), rows_of(HEAT, theirs), strict=True):
        assert {**a, "log10": 0, "std": 0} == {**b, "log10": 0, "std": 0}
        # One percent of the number.
        assert a["log10"] == pytest.approx(b["log10"], abs=0.005)
    with pytest.raises(UsageError, match="with weight_norm, input_norm alone"):
        panels_from(tmp_path / "clone" / "gradients.csv", "weight_max")


def test_similarity_counts_layers_from_the_output_of_the_encoder(result_row, write_store, tmp_path):
    """Also of a run that came to nothing but its start; what is not finite is left out."""
    run = result_row(status="diverged", epochs_run=0)
    store = Store(write_store(tmp_path / "results", [run]))
    arrays = {name: np.array([[10.0, np.nan, np.inf, 0.1]], np.float32) for name in SIMILARITY}
    write_recording(store.run(run["run_id"]).recording_path("similarity"), {"epochs": np.array([0]), **arrays})
    (panel,) = panels_from(store.root, "grad_mu")
    assert [(series.label, len(series.points)) for series in panel.series] == [("0", 1), ("1", 0), ("2", 0), ("3", 1)]
    assert [panel.series[layer].points[0].y for layer in (0, 3)] == pytest.approx([1, -1])


def test_other_values_are_refused_and_nothing_is_nothing_to_draw(recorded_runs):
    table = build_table([recorded_runs[0] | {"epochs_run": 0}], LAYOUT)
    with pytest.raises(UsageError, match="Unknown recorded value 'test_score'"):
        HEAT.panels(table, Results([], [], []), "test_score")
    with pytest.raises(UsageError, match="nothing to draw"):
        HEAT.panels(table, Results([], [], []), "weight_norm")


def test_a_heat_map_names_what_its_colours_mean(logarithms, texts):
    shown = texts("heat", logarithms(-3, 1), "input_max")
    for text in ("none, cora", "lip, cora", "layer", "epoch", "log10 largest entry of input gradient"):
        assert text in shown


def test_a_heat_map_has_layers_upwards_epochs_to_the_right_and_one_scale(monkeypatch, logarithms, texts):
    """The arrays and limits that matplotlib is handed."""
    from matplotlib.axes import Axes

    handed = []
    original = Axes.imshow

    def watched(axes, grid, **options):
        handed.append((grid.tolist(), options["extent"], options["origin"], options["norm"].vmin, options["norm"].vmax))
        return original(axes, grid, **options)

    monkeypatch.setattr(Axes, "imshow", watched)
    texts("heat", logarithms(-3, 1), "weight_norm")
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


def test_a_heat_map_of_similarity_begins_at_layer_0(monkeypatch, texts):
    from matplotlib.axes import Axes

    extents = []
    original = Axes.imshow
    monkeypatch.setattr(Axes, "imshow", lambda *a, **o: extents.append(o["extent"]) or original(*a, **o))
    columns = [Series(str(layer), [Point(0, 1.0), Point(1, 2.0)]) for layer in (0, 1, 2)]
    shown = texts("heat", [Panel("none", columns)], "feat_mu")
    assert extents == [(-0.5, 1.5, -0.5, 2.5)]
    assert "log10 spread of features over nodes, μ" in shown


def test_epochs_and_layers_are_numbered_by_whole_numbers(logarithms):
    axes = sheet_of(HEAT, logarithms(-3, 1), "weight_norm").axes[0]
    assert all(float(tick).is_integer() for tick in (*axes.get_xticks(), *axes.get_yticks()))
