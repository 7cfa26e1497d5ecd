import numpy as np
import pytest

from lipgnn.bench.graphs import CLASSES, FEATURES, GraphChoice, made_up, power_law
from lipgnn.bench.train import spec_for
from lipgnn.errors import UsageError


def pairs(edges):
    return set(map(tuple, edges.T.tolist()))


@pytest.mark.parametrize("nodes, edges", [(500, 500), (500, 3000), (2000, 30_000), (60, 60 + 2 * 442)])
def test_the_number_of_edges_is_exactly_what_was_asked(nodes, edges):
    made = power_law(nodes, edges)
    assert made.shape == (2, edges) and made.dtype == np.int64
    assert len(pairs(made)) == edges, "every edge once"
    assert made.min() == 0 and made.max() == nodes - 1


def test_where_parity_forbids_it_there_is_one_edge_less():
    assert power_law(100, 501).shape == (2, 500)


def test_it_is_symmetric_with_one_self_loop_a_node():
    edges = power_law(300, 2000, seed=3)
    found = pairs(edges)
    assert found == {(v, u) for u, v in found}
    assert {(v, v) for v in range(300)} <= found


def test_it_is_ordered_as_data_sets_are():
    edges = power_law(300, 2000)
    assert (np.diff(edges[1] * 300 + edges[0]) > 0).all()


def test_the_seed_decides():
    assert np.array_equal(power_law(300, 2000, seed=1), power_law(300, 2000, seed=1))
    assert not np.array_equal(power_law(300, 2000, seed=1), power_law(300, 2000, seed=2))


def test_degrees_have_a_heavy_tail_and_hubs_lie_anywhere():
    """In a uniform random graph of mean degree 10 none of 20 000 nodes has four times the mean."""
    degrees = np.bincount(power_law(20_000, 220_000)[1])
    assert degrees.max() > 50 * degrees.mean()
    assert np.median(degrees) < 0.8 * degrees.mean()
    # P(degree > d) ∝ d^{1-γ}: ten times the degree is 10^{1.5} ≈ 32 times as rare.
    assert 15 < (degrees > 20).sum() / (degrees > 200).sum() < 70
    assert np.argsort(degrees)[-20:].mean() > 2000, "hubs are not the first nodes"


@pytest.mark.parametrize("nodes, edges", [(100, 99), (100, 100 + 100 * 99), (1, 3)])
def test_impossible_numbers_are_refused_with_the_possible_ones(nodes, edges):
    with pytest.raises(UsageError, match=f"{nodes} nodes cannot have {edges} edges") as raised:
        power_law(nodes, edges)
    assert f"at least {nodes}, at most" in raised.value.hint


def test_a_data_set_is_measured_as_it_is_trained_on():
    topology = GraphChoice("cora").topology()
    assert (topology.name, topology.num_nodes, topology.edges.shape[1]) == ("cora", 2708, 13264)


def test_a_folder_without_features_is_enough(tmp_path, write_ogb):
    folder = write_ogb(tmp_path / "tiny", features=None, edges=np.array([[0, 1], [2, 1]]))
    loops = {(node, node) for node in range(60)}
    directed = GraphChoice(str(folder)).topology()
    assert (directed.name, pairs(directed.edges)) == ("tiny", {(0, 1), (2, 1)} | loops)
    both = GraphChoice(f"{folder}:undirected").topology()
    assert pairs(both.edges) == pairs(directed.edges) | {(1, 0), (1, 2)}
    dataset = GraphChoice(str(folder)).training_data(spec_for(GraphChoice("planted")))
    assert (dataset.num_nodes, dataset.num_features) == (60, FEATURES)
    assert pairs(dataset.edges) == pairs(directed.edges)


def test_training_data_of_a_data_set_is_that_of_a_run(load_for):
    choice = GraphChoice("planted")
    spec = spec_for(choice)
    assert choice.training_data(spec).fingerprint == load_for(spec).fingerprint


def test_made_up_data_can_be_trained_on():
    topology = GraphChoice(nodes=50, edges=200).topology()
    dataset = made_up(topology)
    assert (dataset.num_nodes, dataset.num_features, dataset.num_classes) == (50, FEATURES, CLASSES)
    assert np.array_equal(dataset.edges, topology.edges)
    assert all(mask.any() for mask in dataset.split.parts.values())
