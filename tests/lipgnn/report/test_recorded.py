import math

import numpy as np
import pytest

from lipgnn.errors import UsageError
from lipgnn.report.recorded import first_layer, first_recorded, logarithms_of, shares_of, with_distance, with_growth
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout
from lipgnn.report.table.values import DISTANCE, GROWTH
from lipgnn.results.recordings import GRADIENTS, SIMILARITY, write_recording
from lipgnn.results.rows import read_results
from lipgnn.results.store import Store


def cells_of(source):
    results = read_results([source])
    return build_table(results.rows, Layout(rows=("norm",), cols=("dataset",))).cells, results


def test_the_logarithms_of_a_cell_are_those_of_its_runs(recorded, arrays_of):
    cells, results = cells_of(recorded.root)
    found = list(logarithms_of(cells[("lip",), ("cora",)], results, "weight_mean"))
    assert [run["seed"] for run, _, _ in found] == [0, 1]
    for run, epochs, logarithms in found:
        assert epochs == [1, 2, 3, 4]
        np.testing.assert_allclose(10**logarithms, arrays_of(run)["weight_mean"], rtol=1e-6)


def test_zero_has_the_logarithm_of_zero(recorded, recorded_runs, arrays_of):
    arrays = arrays_of(recorded_runs[0])
    arrays["weight_norm"][0, 0] = 0
    write_recording(recorded.run(recorded_runs[0]["run_id"]).recording_path("gradients"), arrays)
    cells, results = cells_of(recorded.root)
    (_, _, logarithms), _ = logarithms_of(cells[("none",), ("cora",)], results, "weight_norm")
    assert logarithms[0, 0] == -math.inf and np.isfinite(logarithms).sum() == logarithms.size - 1


def test_what_is_drawn_by_default_and_where_layers_begin():
    assert first_recorded((), "gradients") == GRADIENTS[0]
    assert first_recorded(("similarity",), "gradients") == SIMILARITY[0]
    assert {first_layer(name) for name in GRADIENTS} == {1}
    assert {first_layer(name) for name in SIMILARITY} == {0}


def test_a_run_without_a_recording_is_named_with_what_to_do(recorded, recorded_runs):
    recorded.run(recorded_runs[2]["run_id"]).recording_path("gradients").unlink()
    cells, results = cells_of(recorded.root)
    with pytest.raises(UsageError, match=f"Run {recorded_runs[2]['run_id']} has recorded no gradients") as caught:
        list(logarithms_of(cells[("lip",), ("cora",)], results, "weight_norm"))
    # Whatever computed it: a sweep takes no --record.
    assert caught.value.hint.endswith(f": {recorded_runs[2]['command']} --record gradients --force")


def test_a_reversible_stack_has_no_gradients_of_inputs(result_row, arrays_of, write_store, tmp_path):
    run = result_row(stack="reversible", epochs_run=4)
    store = Store(write_store(tmp_path / "results", [run]))
    arrays = arrays_of(run)
    arrays["input_norm"][:] = np.nan
    write_recording(store.run(run["run_id"]).recording_path("gradients"), arrays)
    cells, results = cells_of(store.root)
    (cell,) = cells.values()
    assert list(logarithms_of(cell, results, "weight_norm"))
    with pytest.raises(UsageError, match="reversible stack"):
        list(logarithms_of(cell, results, "input_norm"))


def test_growth_is_of_the_first_layer_over_the_last_before_the_first_step(similar, similar_runs, courses_of):
    """The columns of every epoch are 1, 10 and 100: two orders less at the first layer's input."""
    results = read_results([similar.root])
    rows = with_growth(results.rows, results)
    assert [row[GROWTH] for row in rows] == pytest.approx([-2] * 4)
    table = build_table(rows, Layout(rows=("residual",), cols=("dataset",), value=GROWTH))
    assert [(cell.mean, cell.n) for cell in table.cells.values()] == [(pytest.approx(-2), 2)] * 2
    overflown = courses_of(similar_runs[0])
    overflown["grad_mu"][0, 0] = np.inf
    write_recording(similar.run(similar_runs[0]["run_id"]).recording_path("similarity"), overflown)
    assert {row["run_id"]: row[GROWTH] for row in with_growth(results.rows, results)}[similar_runs[0]["run_id"]] is None
    similar.run(similar_runs[0]["run_id"]).recording_path("similarity").unlink()
    with pytest.raises(UsageError, match="has recorded no similarity"):
        with_growth(results.rows, results)


def test_the_mean_distance_is_of_the_shares_at_the_end(result_row, write_store, tmp_path):
    runs = [result_row(layers=2, seed=seed) for seed in range(3)]
    runs[2] |= {"status": "diverged"}
    store = Store(write_store(tmp_path / "results", runs))
    for run, end in zip(runs, ([0.5, 0.25, 0.25, 0], [0.25, 0.25, 0, 0.5], [1, 0, 0, 0]), strict=True):
        arrays = {"epochs": np.array([0, 3]), "reach_share": np.array([[1.0, 0, 0, 0], end])}
        write_recording(store.run(run["run_id"]).recording_path("reach"), arrays)
    results = read_results([store.root])
    by_seed = {run["seed"]: run for run in with_distance(results.rows, results)}
    # Of the second half is beyond, and says nothing.
    assert [by_seed[seed][DISTANCE] for seed in range(3)] == [0.75, 0.5, None]
    assert shares_of(by_seed[1], results) == [0.25, 0.25, 0, 0.5]
    store.run(runs[0]["run_id"]).recording_path("reach").unlink()
    with pytest.raises(UsageError, match="has recorded no reach"):
        with_distance(results.rows, results)


def test_shares_are_of_no_layer(recorded):
    cells, results = cells_of(recorded.root)
    with pytest.raises(UsageError, match="Unknown recorded value 'reach_share'"):
        list(logarithms_of(cells[("lip",), ("cora",)], results, "reach_share"))
