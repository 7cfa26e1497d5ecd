import numpy as np
import pytest

from lipgnn.catalog import PATH_MEASURES
from lipgnn.errors import UsageError
from lipgnn.report.figures import FIGURES
from lipgnn.report.figures.figure import rows_of
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout
from lipgnn.results.recordings import HORIZONS, write_recording
from lipgnn.results.rows import read_results
from lipgnn.results.store import Store
from lipgnn.spec.horizon import horizon_groups

HORIZON = FIGURES["horizon"]


@pytest.fixture
def store(result_row, write_store, tmp_path):
    """Two losses and seeds, one run diverged; walks of 1 and 3 steps, and seed 1 is better by .2."""
    runs = [
        result_row(loss=loss, seed=seed, dataset="planar", metric="choice-accuracy")
        for loss in ("nll", "target")
        for seed in (0, 1)
    ]
    runs[3] |= {"status": "diverged", "test_score": None}
    store = Store(write_store(tmp_path / "results", runs))
    for run in runs:
        if run["status"] == "done":
            write(store, run["run_id"], [0.6 + 0.2 * run["seed"], 0.25, 0.5])
    return store


def write(store, run_id, at_one):
    """A recording of five windows: these numbers at one step, of every walk, and half of them at three."""
    write_numbers(store, run_id, {1: (3, np.array(at_one)), 3: (2, np.array(at_one) / 2)})


def write_numbers(store, run_id, by_steps):
    """A recording: for each number of steps how many windows have it, and the measures of every walk."""
    shape = (1, 3, 1 + max(by_steps))
    numbers, windows = np.full(shape, np.nan, dtype=np.float32), np.full(shape, np.nan, dtype=np.float32)
    for steps, (count, own) in by_steps.items():
        numbers[0, :, steps], windows[0, :, steps] = own, count
    arrays = {**dict.fromkeys(HORIZONS, numbers), "horizon_windows": windows}
    write_recording(store.run(run_id).recording_path("horizons"), {"epochs": np.array([7]), **arrays})


def panels_from(store, value="choice_accuracy"):
    results = read_results([store.root])
    return HORIZON.panels(build_table(results.rows, Layout(rows=("loss",), cols=("dataset",))), results, value)


def test_a_point_is_a_mean_over_runs_and_the_uniform_walks_stand_beside_once(store):
    (panel,) = panels_from(store)
    assert [series.label for series in panel.series] == ["nll", "target", "uniform", "uniform-nb"]
    nll, target, uniform, without_back = panel.series
    assert [(point.x, point.n) for point in nll.points] == [(1, 2), (3, 2)]
    assert [point.y for point in nll.points] == pytest.approx([0.7, 0.35])
    assert nll.points[0].std == pytest.approx(0.2 / 2**0.5)
    assert [(point.y, point.std, point.n) for point in target.points] == [
        (pytest.approx(0.6), None, 1),
        (pytest.approx(0.3), None, 1),
    ]
    assert [point.y for point in uniform.points] == pytest.approx([0.25, 0.125])
    assert [point.y for point in without_back.points] == pytest.approx([0.5, 0.25])
    assert list(rows_of(HORIZON, [panel])[0]) == ["panel", "series", "steps", "y", "std", "n"]


def test_rows_that_predict_something_else_have_uniform_walks_of_their_own(store):
    run = next(row["run_id"] for row in read_results([store.root]).rows if row["loss"] == "target")
    write(store, run, [0.6, 0.3, 0.5])
    (panel,) = panels_from(store)
    named = {series.label: [point.y for point in series.points] for series in panel.series}
    assert named.keys() == {"nll", "target", "uniform, nll", "uniform, target", "uniform-nb"}
    assert named["uniform, target"] == pytest.approx([0.3, 0.15])


@pytest.mark.parametrize(
    "value, horizon, weight",
    [
        ("target_probability", "given", lambda count, steps: count),
        ("path_nll", "shortest:1.1", lambda count, steps: count),
        ("choice_accuracy", "given", lambda count, steps: count * steps),
        ("choice_accuracy", "shortest:1.1", None),
        ("choice_accuracy_deg3", "given", None),
    ],
)
def test_many_numbers_of_steps_are_in_ranges_whose_points_are_those_of_all_their_windows(
    result_row, write_store, tmp_path, value, horizon, weight
):
    """A true path of so many steps has as many choices; how many are at large crossings is not known."""
    run = result_row(loss="nll", dataset="planar", metric="choice-accuracy", horizon=horizon)
    store = Store(write_store(tmp_path / "results", [run]))
    random = np.random.default_rng(0)
    by_steps = {steps: (int(random.integers(1, 9)), random.random(3)) for steps in range(1, 30, 2)}
    for row in read_results([store.root]).rows:
        if row["status"] == "done":
            write_numbers(store, row["run_id"], by_steps)
    (panel,) = panels_from(store, value)
    points = panel.series[0].points
    if weight is None:
        assert [point.x for point in points] == list(by_steps)
        assert [point.y for point in points] == pytest.approx([own[0] for _, own in by_steps.values()])
        return
    groups = horizon_groups({steps: count for steps, (count, _) in by_steps.items()})
    assert len(points) == len(groups) < len(by_steps)
    for point, (first, last) in zip(points, groups, strict=True):
        here = [(steps, count, own[0]) for steps, (count, own) in by_steps.items() if first <= steps <= last]
        weights = [weight(count, steps) for steps, count, _ in here]
        assert point.y == pytest.approx(np.average([own for *_, own in here], weights=weights))
        assert point.x == pytest.approx(np.average([steps for steps, *_ in here], weights=[n for _, n, _ in here]))


def test_a_walk_that_was_left_out_has_no_line(store):
    for row in read_results([store.root]).rows:
        if row["status"] == "done":
            write(store, row["run_id"], [0.6, 0.3, np.nan])
    (panel,) = panels_from(store)
    assert [series.label for series in panel.series] == ["nll", "target", "uniform"]


def test_a_run_without_it_is_named_with_what_to_do(store):
    next((store.root / "runs").glob("*/horizons.safetensors")).unlink()
    with pytest.raises(UsageError, match="has recorded no horizons") as caught:
        panels_from(store)
    assert "--record horizons --force" in caught.value.hint


def test_what_is_no_measure_is_refused_with_those_that_are(store):
    with pytest.raises(UsageError, match="Unknown measure by horizon 'test_score'") as caught:
        panels_from(store, "test_score")
    assert all(name in caught.value.hint for name in PATH_MEASURES)


@pytest.mark.parametrize("value, words", [("choice_accuracy", "choice accuracy (%)"), ("path_nll", "path nll")])
def test_shares_are_in_percent_and_likelihoods_are_not(store, texts, value, words):
    shown = texts("horizon", panels_from(store, value), value)
    for text in (words, "steps of the walk", "nll", "target", "uniform", "uniform-nb"):
        assert text in shown
