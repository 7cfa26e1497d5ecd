import math

import numpy as np
import pytest

from lipgnn.errors import UsageError
from lipgnn.report.figures.gradients import gradient_panels
from lipgnn.report.figures.series import records
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout
from lipgnn.results.recordings import GRADIENTS, SIMILARITY, archive_recordings, write_recording
from lipgnn.results.rows import Results, read_results
from lipgnn.results.store import Store, to_csv

LAYOUT = Layout(rows=("norm",), cols=("dataset",))
LAYERS, EPOCHS = 3, 4


def numbers(run, epochs=EPOCHS):
    """Layer 3 is the largest; two runs of seeds 0 and 1 are a factor 100 apart, so their log10 deviate by √2."""
    base = 10.0 ** (2 * run["seed"] - (run["norm"] == "lip"))
    return base * np.outer(np.arange(1, epochs + 1), np.arange(1, LAYERS + 1)).astype(np.float32)


def arrays_of(run, epochs=EPOCHS):
    named = {name: numbers(run, epochs) * 2**place for place, name in enumerate(GRADIENTS)}
    return {"epochs": np.arange(1, epochs + 1), **named}


@pytest.fixture
def runs(result_row):
    return [result_row(norm=norm, seed=seed, epochs_run=EPOCHS) for norm in ("none", "lip") for seed in (0, 1)]


@pytest.fixture
def store(runs, write_store, tmp_path):
    store = Store(write_store(tmp_path / "results", runs))
    for run in runs:
        write_recording(store.run(run["run_id"]).recording_path("gradients"), arrays_of(run))
    return store


def panels_from(source, kind, value="weight_norm"):
    results = read_results([source])
    return gradient_panels(kind, build_table(results.rows, LAYOUT), results, value)


def test_heat_has_a_panel_for_every_cell_and_a_series_for_every_layer(store):
    panels = panels_from(store.root, "heat")
    assert [panel.title for panel in panels] == ["none, cora", "lip, cora"]
    assert [series.label for series in panels[0].series] == ["1", "2", "3"]
    for panel, base in zip(panels, (10, 1), strict=True):
        for layer, series in enumerate(panel.series, start=1):
            assert [(point.x, point.n) for point in series.points] == [(epoch, 2) for epoch in range(1, 5)]
            for point in series.points:
                # The geometric mean of 1 and 100 is 10.
                assert 10**point.y == pytest.approx(base * layer * point.x)
                assert point.std == pytest.approx(math.sqrt(2))


def test_largest_is_over_the_layers(store):
    (panel,) = panels_from(store.root, "largest", "input_norm")
    assert (panel.title, [series.label for series in panel.series]) == ("cora", ["none", "lip"])
    place = 2 ** GRADIENTS.index("input_norm")
    assert [10**point.y for point in panel.series[1].points] == pytest.approx([3 * place * e for e in range(1, 5)])


def test_every_point_is_a_record(store):
    first = records("heat", panels_from(store.root, "heat"))[0]
    assert first == {
        "panel": "none, cora",
        "layer": "1",
        "epoch": 1,
        "log10": pytest.approx(1),
        "std": pytest.approx(math.sqrt(2)),
        "n": 2,
    }
    assert list(records("largest", panels_from(store.root, "largest"))[0]) == [
        "panel",
        "series",
        "epoch",
        "log10",
        "std",
        "n",
    ]


def test_a_diverged_run_counts_as_far_as_it_came(runs, write_store, tmp_path):
    """The one that explodes is the one to be seen."""
    runs = [runs[0], runs[1] | {"status": "diverged", "epochs_run": 2, "diverged_at": "output of the loss"}]
    runs.append(runs[0] | {"run_id": "0" * 12, "seed": 2, "status": "diverged", "epochs_run": 0})
    store = Store(write_store(tmp_path / "results", runs))
    for run in runs[:2]:
        write_recording(store.run(run["run_id"]).recording_path("gradients"), arrays_of(run, run["epochs_run"]))
    (panel,) = panels_from(store.root, "largest")
    assert [point.n for point in panel.series[0].points] == [2, 2, 1, 1]


def test_a_gradient_of_zero_has_no_logarithm_and_no_point(runs, store):
    arrays = arrays_of(runs[0])
    arrays["weight_norm"][2, 0] = 0
    arrays["weight_norm"][3] = 0
    write_recording(store.run(runs[0]["run_id"]).recording_path("gradients"), arrays)
    points = panels_from(store.root, "heat")[0].series
    assert [[point.x for point in series.points] for series in points] == [[1, 2], [1, 2, 3], [1, 2, 3]]
    assert [point.x for point in panels_from(store.root, "largest")[0].series[0].points] == [1, 2, 3]


def test_published_recordings_beside_a_table_draw_the_same(runs, store, tmp_path):
    ids = [run["run_id"] for run in runs]
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "gradients.csv").write_bytes(to_csv(runs))
    archive_recordings(store, ids, tmp_path / "clone" / "gradients")
    for kind in ("heat", "largest"):
        ours, theirs = (panels_from(source, kind) for source in (store.root, tmp_path / "clone" / "gradients.csv"))
        for a, b in zip(records(kind, ours), records(kind, theirs), strict=True):
            assert {**a, "log10": 0, "std": 0} == {**b, "log10": 0, "std": 0}
            # One percent of the number.
            assert a["log10"] == pytest.approx(b["log10"], abs=0.005)
    with pytest.raises(UsageError, match="with weight_norm, input_norm alone"):
        panels_from(tmp_path / "clone" / "gradients.csv", "heat", "weight_max")


def test_a_run_without_a_recording_is_named_with_what_to_do(runs, store):
    store.run(runs[2]["run_id"]).recording_path("gradients").unlink()
    with pytest.raises(UsageError, match=f"Run {runs[2]['run_id']} has recorded no gradients") as caught:
        panels_from(store.root, "heat")
    assert "--record gradients --force" in caught.value.hint


def test_a_reversible_stack_has_no_gradients_of_inputs(result_row, write_store, tmp_path):
    run = result_row(stack="reversible", epochs_run=EPOCHS)
    store = Store(write_store(tmp_path / "results", [run]))
    arrays = arrays_of(run)
    arrays["input_norm"][:] = np.nan
    write_recording(store.run(run["run_id"]).recording_path("gradients"), arrays)
    with pytest.raises(UsageError, match="reversible stack"):
        panels_from(store.root, "heat", "input_norm")


def test_similarity_counts_layers_from_the_output_of_the_encoder(result_row, write_store, tmp_path):
    """Also of a run that came to nothing but its start; what is not finite is left out."""
    run = result_row(status="diverged", epochs_run=0)
    store = Store(write_store(tmp_path / "results", [run]))
    arrays = {name: np.array([[10.0, np.nan, np.inf, 0.1]], np.float32) for name in SIMILARITY}
    write_recording(store.run(run["run_id"]).recording_path("similarity"), {"epochs": np.array([0]), **arrays})
    (panel,) = panels_from(store.root, "heat", "grad_mu")
    assert [(series.label, len(series.points)) for series in panel.series] == [("0", 1), ("1", 0), ("2", 0), ("3", 1)]
    assert [panel.series[layer].points[0].y for layer in (0, 3)] == pytest.approx([1, -1])


def test_other_values_are_refused_and_nothing_is_nothing_to_draw(runs):
    table = build_table([runs[0] | {"epochs_run": 0}], LAYOUT)
    with pytest.raises(UsageError, match="Unknown recorded value 'test_score'"):
        gradient_panels("heat", table, Results([], [], []), "test_score")
    for kind in ("heat", "largest"):
        with pytest.raises(UsageError, match="nothing to draw"):
            gradient_panels(kind, table, Results([], [], []), "weight_norm")
