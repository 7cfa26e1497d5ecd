import numpy as np
import pytest

from lipgnn.errors import UsageError
from lipgnn.report.figures import FIGURES
from lipgnn.report.figures.figure import rows_of
from lipgnn.report.figures.reach import draw_reach
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout
from lipgnn.results.recordings import write_recording
from lipgnn.results.rows import read_results
from lipgnn.results.store import Store

REACH = FIGURES["reach"]


@pytest.fixture
def store(result_row, write_store, tmp_path):
    """Two norms and seeds, one run diverged; seed 1 looks farther, and a tenth of it is beyond."""
    runs = [result_row(norm=norm, seed=seed, layers=2) for norm in ("none", "lip") for seed in (0, 1)]
    runs[3] |= {"status": "diverged", "test_score": None}
    store = Store(write_store(tmp_path / "results", runs))
    for run in runs:
        end = [0.1, 0.3, 0.5, 0.1] if run["seed"] else [0.5, 0.3, 0.2, 0.0]
        shares = np.array([[1.0, 0, 0, 0], end], dtype=np.float32)
        path = store.run(run["run_id"]).recording_path("reach")
        write_recording(path, {"epochs": np.array([0, 7]), "reach_share": shares})
    return store


def panels_from(store):
    results = read_results([store.root])
    return REACH.panels(build_table(results.rows, Layout(rows=("norm",), cols=("dataset",))), results, "reach_share")


def test_a_point_is_the_mean_share_of_a_distance_at_the_end_over_runs_that_are_done(store):
    (panel,) = panels_from(store)
    none, lip = panel.series
    assert [(point.x, point.n) for point in none.points] == [(0, 2), (1, 2), (2, 2)]
    assert [point.y for point in none.points] == pytest.approx([0.3, 0.3, 0.35])
    assert none.points[0].std == pytest.approx(0.4 / 2**0.5)
    assert [point.y for point in lip.points] == pytest.approx([0.5, 0.3, 0.2])
    assert list(rows_of(REACH, [panel])[0]) == ["panel", "series", "hops", "share", "std", "n"]


def test_a_run_without_it_is_named_with_what_to_do(store):
    # Of every run, since the order of folders could put the diverged one first, which is left out anyway.
    for path in (store.root / "runs").glob("*/reach.safetensors"):
        path.unlink()
    with pytest.raises(UsageError, match="has recorded no reach") as caught:
        panels_from(store)
    assert "--record reach --force" in caught.value.hint


def test_shares_are_in_percent_by_hops(store, texts):
    shown = texts("reach", panels_from(store), "reach_share")
    for text in ("share of a node's output (%)", "distance in hops", "none", "lip", "50"):
        assert text in shown


def test_a_single_network_is_drawn_beside_plain_averaging():
    rows = [{"distance": hops, "share": 0.5, "walk": 0.25, "nodes": 3} for hops in range(2)]
    picture = draw_reach(rows, "two layers", "svg")
    assert b"averaging over neighbours alone" in picture and b"two layers" in picture
    assert picture == draw_reach(rows, "two layers", "svg")
    # A network that is not finite has no shares, and the walk is still there.
    assert draw_reach([row | {"share": None} for row in rows], "two layers", "svg") != picture
