import numpy as np
import pytest

from lipgnn.errors import UsageError
from lipgnn.report.figures import FIGURES
from lipgnn.report.figures.figure import rows_of
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout
from lipgnn.results.recordings import TRAFFIC, write_recording
from lipgnn.results.rows import read_results
from lipgnn.results.store import Store

FIGURE = FIGURES["traffic"]


@pytest.fixture
def store(result_row, write_store, tmp_path):
    """Top-k with two seeds, and dense runs that send nothing; the second epoch of a dense run was not evaluated."""
    runs = [result_row(compress=compress, seed=seed) for compress in ("none", "topk:0.01") for seed in (0, 1)]
    store = Store(write_store(tmp_path / "results", runs))
    for run in runs:
        sparse = run["compress"] != "none"
        objective = np.array([[2.0], [1.0], [0.5]]) * (1 + run["seed"])
        if not sparse and run["seed"]:
            objective[1] = np.nan
        sent = np.array([[1.0], [2.0], [3.0]]) if sparse else np.full((3, 1), np.nan)
        arrays = dict(zip(TRAFFIC, (objective, sent), strict=True))
        write_recording(store.run(run["run_id"]).recording_path("traffic"), {"epochs": np.array([1, 2, 3]), **arrays})
    return store


def panels_from(store):
    results = read_results([store.root])
    return FIGURE.panels(build_table(results.rows, Layout(rows=("compress",), cols=("dataset",))), results, TRAFFIC[0])


def test_one_panel_is_by_epochs_and_one_by_what_was_sent(store):
    epochs, sent = panels_from(store)
    assert [series.label for series in epochs.series] == ["none", "topk:0.01"]
    assert [(point.x, point.y) for point in epochs.series[0].points] == [(1, 3.0), (3, 0.75)]
    assert [(point.x, point.y, point.n) for point in epochs.series[1].points] == [
        (1, 3.0, 2),
        (2, 1.5, 2),
        (3, 0.75, 2),
    ]
    assert [series.label for series in sent.series] == ["topk:0.01"]
    assert [(point.x, point.y) for point in sent.series[0].points] == [(1, 3.0), (2, 1.5), (3, 0.75)]
    rows = rows_of(FIGURE, [epochs, sent])
    assert list(rows[0]) == ["panel", "series", "along", "x", "objective", "std", "n"]
    assert {row["along"] for row in rows} == {"epoch", "sent_mb"}


def test_axes_say_what_they_are(store, texts):
    shown = texts("traffic", panels_from(store), TRAFFIC[0])
    for text in ("training loss + penalty", "epoch", "sent (MB)", "topk:0.01"):
        assert text in shown


def test_a_run_without_it_is_named_with_what_to_do(store):
    for path in (store.root / "runs").glob("*/traffic.safetensors"):
        path.unlink()
    with pytest.raises(UsageError, match="has recorded no traffic") as caught:
        panels_from(store)
    assert "--record traffic --force" in caught.value.hint
