import pytest

from lipgnn.datasets import load
from lipgnn.spec.run import RunSpec
from lipgnn.sweep.estimate import Paces, edges_of


@pytest.fixture
def row(result_row):
    """Ten layers of 8 heads of 8 on Cora, half a second an epoch."""

    def make(**values):
        return result_row(**{"layers": 10, "epochs": 200, "epochs_run": 100, "seconds_per_epoch": 0.5, **values})

    return make


@pytest.mark.parametrize("dataset", ["cora", "citeseer", "pubmed", "planted", "complete"])
def test_known_sizes_are_those_of_the_data(dataset):
    assert edges_of(dataset) == load(dataset).edges.shape[1]


@pytest.mark.parametrize(
    "dataset, graphs, nodes", [("trees:2", 96, 7), ("trees:8", 32000, 511), ("trees:5:250", 8000, 63)]
)
def test_trees_have_a_self_loop_a_node_and_an_edge_to_every_parent(dataset, graphs, nodes):
    assert edges_of(dataset) == graphs * (2 * nodes - 1)


@pytest.mark.parametrize("dataset", ["no-such-data", "trees:x", "texas"])
def test_the_size_of_data_that_is_not_here_is_not_known(dataset):
    assert edges_of(dataset) is None


@pytest.mark.parametrize("value", [None, 0, -1])
@pytest.mark.parametrize("name", ["seconds_per_epoch", "layers", "epochs", "epochs_run", "heads"])
def test_a_row_of_no_possible_run_says_nothing_of_paces(row, name, value):
    assert Paces([row(**{name: value})]).estimate(RunSpec()) == (None, False)


def test_runs_of_the_same_shape_give_the_pace(row):
    """0.05 s an epoch and layer, and half of the epochs used where there is patience."""
    paces = Paces([row(), row(seed=1)])
    spec = RunSpec(layers=20, epochs=100, patience=10)
    assert paces.estimate(spec) == (pytest.approx(0.05 * 20 * 100 / 2), False)
    assert paces.estimate(spec.with_values(patience=0)) == (pytest.approx(0.05 * 20 * 100), False)


def test_epochs_are_those_of_runs_that_end_alike(row):
    """A schedule that stops learning ends runs without patience, and says nothing of others."""
    ended = row(schedule="plateau", stop_lr=1e-8, patience=0, epochs_run=20)
    paces = Paces([row(), row(seed=1), ended])
    spec = RunSpec(layers=20, epochs=100, patience=0, schedule="plateau", stop_lr=1e-8)
    assert paces.estimate(spec) == (pytest.approx(0.05 * 20 * 100 / 10), False)
    assert paces.estimate(spec.with_values(stop_lr=0)) == (pytest.approx(0.05 * 20 * 100), False)
    assert paces.estimate(spec.with_values(patience=10)) == (pytest.approx(0.05 * 20 * 100), False)


def test_another_shape_is_scaled_by_size_width_and_depth(row):
    paces = Paces([row()])
    seconds, rough = paces.estimate(RunSpec(dataset="pubmed", hidden=16, layers=20, epochs=100))
    # Twice the width, and half of the epochs used, as the run of the other shape did.
    assert (seconds, rough) == (pytest.approx(0.05 * 20 * 100 * 2 / 2 * edges_of("pubmed") / edges_of("cora")), True)


def test_epochs_of_another_shape_are_those_of_all_runs_that_end_alike(row):
    paces = Paces([row(), row(seed=1), row(model="gt", schedule="plateau", stop_lr=1e-8, patience=0, epochs_run=20)])
    spec = RunSpec(dataset="pubmed", layers=20, epochs=100, patience=0, schedule="plateau", stop_lr=1e-8)
    whole, _ = paces.estimate(spec.with_values(stop_lr=0))
    assert paces.estimate(spec) == (pytest.approx(whole / 10), True)


def test_a_rough_guess_prefers_the_same_model(row):
    paces = Paces([row(), row(model="gcn", norm="none", seconds_per_epoch=0.1)])
    seconds, _ = paces.estimate(RunSpec(dataset="citeseer", model="gcn", norm="none", layers=10, epochs=2))
    assert seconds == pytest.approx(0.1 * edges_of("citeseer") / edges_of("cora"))
    mixed, _ = paces.estimate(
        RunSpec(dataset="citeseer", model="gin", norm="none", residual="none", layers=10, epochs=2)
    )
    assert mixed == pytest.approx(0.3 * edges_of("citeseer") / edges_of("cora"))


def test_without_a_past_nothing_is_known(row):
    assert Paces([]).estimate(RunSpec()) == (None, False)
    assert Paces([row(seconds_per_epoch=None)]).estimate(RunSpec()) == (None, False)
    assert Paces([row()]).estimate(RunSpec(dataset="texas")) == (None, False)
