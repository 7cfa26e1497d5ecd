import math

import numpy as np
import pytest

from lipgnn.errors import UsageError
from lipgnn.report.figures.profiles import profile_panels, scatter_panels, with_growth
from lipgnn.report.figures.series import records
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout
from lipgnn.report.table.values import GROWTH
from lipgnn.results.recordings import SIMILARITY, archive_recordings, write_recording
from lipgnn.results.rows import read_results
from lipgnn.results.store import Store, to_csv

LAYOUT = Layout(rows=("residual",), cols=("dataset",))
# By epoch: the start, the greatest, the least, the end; two layers, so three columns.
COURSE = np.array([1, 1000, 0.1, 10])


def arrays_of(run):
    """Column c is 10^c times the first, every name twice the one before, and seed 1 a hundred times seed 0."""
    base = 100.0 ** run["seed"] * np.outer(COURSE, [1, 10, 100])
    named = {name: (2**place * base).astype(np.float32) for place, name in enumerate(SIMILARITY)}
    return {"epochs": np.arange(4), **named}


@pytest.fixture
def runs(result_row):
    return [
        result_row(residual=residual, seed=seed, layers=2, epochs_run=3, test_score=0.5 + seed / 10)
        for residual in ("none", "identity")
        for seed in (0, 1)
    ]


@pytest.fixture
def store(runs, write_store, tmp_path):
    store = Store(write_store(tmp_path / "results", runs))
    for run in runs:
        write_recording(store.run(run["run_id"]).recording_path("similarity"), arrays_of(run))
    return store


def read(source, value=None):
    results = read_results([source])
    table = build_table(results.rows, LAYOUT)
    return profile_panels(table, results, value) if value else scatter_panels(table, results)


def test_a_profile_has_start_end_and_range_of_every_layer_as_geometric_means(store):
    (panel,) = read(store.root, "feat_mu")
    assert (panel.title, [series.label for series in panel.series]) == ("cora", ["none", "identity"])
    place = 2 ** SIMILARITY.index("feat_mu")
    for series in panel.series:
        assert [(point.x, point.n) for point in series.points] == [(0, 2), (1, 2), (2, 2)]
        for point in series.points:
            # The geometric mean of the seeds' 1 and 100 is 10.
            base = 10 * place * 10**point.x
            numbers = [10**number / base for number in (point.start, point.y, point.low, point.high)]
            assert numbers == pytest.approx([1, 10, 0.1, 1000])


def test_what_is_not_finite_is_left_out_and_the_rest_stays(runs, store):
    arrays = arrays_of(runs[0])
    arrays["grad_mu"][3, 0] = np.inf  # the end of the first column
    arrays["grad_mu"][:, 1] = np.nan  # all of the second
    arrays["grad_mu"][0, 2] = 0  # the start of the third
    write_recording(store.run(runs[0]["run_id"]).recording_path("similarity"), arrays)
    (panel,) = read(store.root, "grad_mu")
    first, third = panel.series[0].points
    assert (first.x, third.x) == (0, 2)
    assert math.isnan(first.y) and 10**first.start == pytest.approx(10)
    assert math.isnan(third.start) and 10**third.y == pytest.approx(10**4)
    # Of the first run what is finite: 1000 is still its greatest.
    assert 10**first.high == pytest.approx(10**4)
    shown = records("profile", [panel])[0]
    assert (shown["series"], shown["layer"], shown["log10_end"], shown["n"]) == ("none", 0, None, 2)
    assert shown["log10_start"] == pytest.approx(1)


def test_scatter_has_a_dot_a_run_at_the_end_of_training(store):
    panels = read(store.root)
    assert [panel.axes for panel in panels] == [
        ("feat_mu", "test_score"),
        ("grad_mu", "test_score"),
        ("feat_mu", "grad_mu"),
    ]
    output = 10 * 100 * 2 ** SIMILARITY.index("feat_mu")
    dots = [[(point.x, point.y) for point in panel.series[0].points] for panel in panels]
    # μ of the output is in the last column, that of the gradient in the first.
    features, gradients = [math.log10(output), math.log10(100 * output)], [1, 3]
    assert dots[0] == [pytest.approx(dot) for dot in zip(features, [0.5, 0.6], strict=True)]
    assert dots[1] == [pytest.approx(dot) for dot in zip(gradients, [0.5, 0.6], strict=True)]
    assert dots[2] == [pytest.approx(dot) for dot in zip(features, gradients, strict=True)]
    assert records("scatter", panels)[0] == {
        "panel": "cora",
        "series": "none",
        "x_is": "feat_mu",
        "x": pytest.approx(features[0]),
        "y_is": "test_score",
        "y": 0.5,
        "n": 1,
    }


def test_runs_that_came_to_nothing_have_no_dot(runs, write_store, tmp_path):
    """One diverged in its first epoch, one has an infinite gradient, one recorded nothing because it never ran."""
    runs[0] |= {"status": "diverged", "epochs_run": 0}
    nothing = runs[0] | {"run_id": "0" * 12, "seed": 2}
    store = Store(write_store(tmp_path / "results", [*runs, nothing]))
    for run in runs:
        arrays = arrays_of(run)
        arrays["grad_mu"][3, 0] = np.inf if run is runs[3] else 1
        write_recording(store.run(run["run_id"]).recording_path("similarity"), arrays)
    panels = read(store.root)
    assert [[len(series.points) for series in panel.series] for panel in panels] == [[1, 2], [1, 1], [1, 1]]


def test_published_recordings_beside_a_table_draw_the_same(runs, store, tmp_path):
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "deep.csv").write_bytes(to_csv(runs))
    archive_recordings(store, [run["run_id"] for run in runs], tmp_path / "clone" / "deep")
    for value in ("grad_mu", "rank1"):
        ours, theirs = (read(source, value) for source in (store.root, tmp_path / "clone" / "deep.csv"))
        for a, b in zip(records("profile", ours), records("profile", theirs), strict=True):
            assert a == {
                key: pytest.approx(number, abs=0.005) if key[:3] == "log" else number for key, number in b.items()
            }


def test_a_run_that_recorded_nothing_is_named_with_what_to_do(runs, store):
    store.run(runs[1]["run_id"]).recording_path("similarity").unlink()
    for value in ("grad_mu", None):
        with pytest.raises(UsageError, match=f"Run {runs[1]['run_id']} has recorded no similarity") as caught:
            read(store.root, value)
        assert "--record similarity --force" in caught.value.hint


def test_growth_is_of_the_first_layer_over_the_last_before_the_first_step(store, runs):
    """The columns of every epoch are 1, 10 and 100: two orders less at the first layer's input."""
    results = read_results([store.root])
    rows = with_growth(results.rows, results)
    assert [row[GROWTH] for row in rows] == pytest.approx([-2] * 4)
    table = build_table(rows, Layout(rows=("residual",), cols=("dataset",), value=GROWTH))
    assert [(cell.mean, cell.n) for cell in table.cells.values()] == [(pytest.approx(-2), 2)] * 2
    overflown = arrays_of(runs[0])
    overflown["grad_mu"][0, 0] = np.inf
    write_recording(store.run(runs[0]["run_id"]).recording_path("similarity"), overflown)
    assert {row["run_id"]: row[GROWTH] for row in with_growth(results.rows, results)}[runs[0]["run_id"]] is None
    store.run(runs[0]["run_id"]).recording_path("similarity").unlink()
    with pytest.raises(UsageError, match="has recorded no similarity"):
        with_growth(results.rows, results)
