"""A table worked out by hand, and stores with recordings."""

import numpy as np
import pytest

from lipgnn.report.table.beside import add_published
from lipgnn.report.table.cells import build_table, compare
from lipgnn.report.table.layout import Layout
from lipgnn.report.table.papers import PaperNumber
from lipgnn.results.recordings import GRADIENTS, SIMILARITY, write_recording
from lipgnn.results.store import Store


@pytest.fixture
def table(result_row):
    """Three norms by two data sets.

    cora: none .70 .72 .74, lip .75 .76 .77, pair .50 and two diverged; citeseer: none .60 .62 .64, lip all diverged.
    """
    values = {
        ("cora", "none"): (0.70, 0.72, 0.74),
        ("cora", "lip"): (0.75, 0.76, 0.77),
        ("cora", "pair"): (0.50, None, None),
        ("citeseer", "none"): (0.60, 0.62, 0.64),
        ("citeseer", "lip"): (None, None, None),
    }
    runs = [
        result_row(dataset=dataset, norm=norm, seed=seed, **({"test_score": value} if value else {}))
        | ({} if value else {"status": "diverged", "test_score": None, "val_score": None})
        for (dataset, norm), numbers in values.items()
        for seed, value in enumerate(numbers)
    ]
    return build_table(runs, Layout(rows=("norm",), cols=("dataset",)))


@pytest.fixture
def full_table(table):
    """The same with everything that can stand beside it."""
    entry = PaperNumber("A & B 2021", "table_1", "cora", 0.0, "gat", "lip", "test_score", 0.753, 0.009, 10, "book")
    return add_published(compare(table, "none"), [entry])


@pytest.fixture
def foreign_table(result_row):
    """A table whose names are attacks."""
    names = [
        "=1+1",
        "</td><script>alert(1)</script>",
        r"\input{/etc/passwd}",
        "a|b_c*[x](http://y)",
        "\x1b[31m\nred",
        "[0.5em]",
        "*x",
        "ünï–中",
    ]
    runs = [result_row(dataset=name, seed=seed, test_score=0.5) for name in names for seed in range(2)]
    return build_table(runs, Layout(rows=("dataset",), cols=("norm",)))


@pytest.fixture
def recorded_runs(result_row):
    """Two norms, two seeds."""
    return [result_row(norm=norm, seed=seed, epochs_run=4) for norm in ("none", "lip") for seed in (0, 1)]


@pytest.fixture
def arrays_of():
    """What a run recorded of its gradients, by epoch (1 to 4) and layer (1 to 3): arrays_of(run).

    Layer 3 is the largest; two runs of seeds 0 and 1 are a factor 100 apart, so their log10 deviate by √2.
    """

    def make(run, epochs=4):
        base = 10.0 ** (2 * run["seed"] - (run["norm"] == "lip"))
        numbers = base * np.outer(np.arange(1, epochs + 1), np.arange(1, 4)).astype(np.float32)
        return {"epochs": np.arange(1, epochs + 1), **{name: numbers * 2**i for i, name in enumerate(GRADIENTS)}}

    return make


@pytest.fixture
def recorded(recorded_runs, arrays_of, write_store, tmp_path):
    """A store of runs that recorded their gradients."""
    store = Store(write_store(tmp_path / "results", recorded_runs))
    for run in recorded_runs:
        write_recording(store.run(run["run_id"]).recording_path("gradients"), arrays_of(run))
    return store


@pytest.fixture
def similar_runs(result_row):
    """Two residual connections, two seeds."""
    return [
        result_row(residual=residual, seed=seed, layers=2, epochs_run=3, test_score=0.5 + seed / 10)
        for residual in ("none", "identity")
        for seed in (0, 1)
    ]


@pytest.fixture
def courses_of():
    """What a run of two layers recorded of its similarity: the start, the greatest, the least, the end.

    Column c is 10^c times the first, every name twice the one before, and seed 1 a hundred times seed 0.
    """

    def make(run):
        base = 100.0 ** run["seed"] * np.outer([1, 1000, 0.1, 10], [1, 10, 100])
        named = {name: (2**place * base).astype(np.float32) for place, name in enumerate(SIMILARITY)}
        return {"epochs": np.arange(4), **named}

    return make


@pytest.fixture
def similar(similar_runs, courses_of, write_store, tmp_path):
    """A store of runs that recorded their similarity."""
    store = Store(write_store(tmp_path / "results", similar_runs))
    for run in similar_runs:
        write_recording(store.run(run["run_id"]).recording_path("similarity"), courses_of(run))
    return store
