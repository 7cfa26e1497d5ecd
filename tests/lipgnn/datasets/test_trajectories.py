"""Trajectories on a graph: dead ends, standardized features, pieces that follow each other, split, fingerprint."""

import numpy as np
import pytest

from lipgnn.datasets.trajectories import made, split_in_order, standardized


def toy(**changed):
    """0 → 1 → 2, 0 → 3; nodes 2 and 3 are dead ends. Two trajectories, of three and two observations."""
    parts = {
        "node_features": np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [6.0, 5.0]]),
        "edges": np.array([[0, 1, 0], [1, 2, 3]]),
        "edge_features": np.array([[1.0], [2.0], [6.0]]),
        "observed_nodes": np.array([[0], [1], [2], [0], [2]]),
        "observed_weights": np.ones((5, 1)),
        "lengths": np.array([3, 2]),
        "leg_edges": np.array([0, 1, 0, 1]),
        "leg_lengths": np.array([1, 1, 2]),
    }
    return made("toy", **{**parts, **changed})


def test_dead_ends_get_self_loops_behind_the_given_edges():
    data = toy()
    assert data.given_edges == 3
    assert data.sources.tolist() == [0, 1, 0, 2, 3]
    assert data.targets.tolist() == [1, 2, 3, 2, 3]
    mean, deviation = 3.0, np.sqrt((4 + 1 + 9) / 3)
    expected = [(value - mean) / deviation for value in (1, 2, 6, 0.01, 0.01)]
    assert data.edge_features[:, 0] == pytest.approx(expected, abs=1e-6)


def test_features_are_standardized_and_a_constant_one_says_nothing():
    data = toy()
    assert data.shape == (2, 1)
    assert data.node_features.dtype == data.edge_features.dtype == np.float32
    assert data.node_features[:, 0].mean() == pytest.approx(0, abs=1e-6)
    assert data.node_features[:, 0].std() == pytest.approx(1, abs=1e-6)
    assert (data.node_features[:, 1] == 0).all()
    assert (standardized(np.array([[0.1], [0.1], [0.1], [7.0]]), given=3) == 0).all()
    assert standardized(np.zeros((4, 0)), given=4).shape == (4, 0)


def test_a_graph_may_come_without_features():
    data = toy(node_features=np.zeros((4, 0)), edge_features=np.zeros((3, 0)))
    assert data.shape == (0, 0)
    assert (len(data.node_features), len(data.edge_features)) == (4, 5)


def test_legs_stand_at_the_observation_they_start_from():
    data = toy()
    assert data.lengths.tolist() == [3, 2]
    assert data.first_observation.tolist() == [0, 3, 5]
    legs = [data.leg_edges[a:b].tolist() for a, b in zip(data.first_leg_edge, data.first_leg_edge[1:], strict=False)]
    assert legs == [[0], [1], [], [0, 1], []]


@pytest.mark.parametrize("count", [0, 1, 4, 5, 10, 19, 229, 28011])
def test_the_split_follows_the_authors_and_validates_on_a_part_of_the_training(count):
    split = split_in_order(np.full(count, 6))
    # Their code: int(.8 V) and int(.2 V).
    train, test = int(0.8 * count), int(0.2 * count)
    assert np.flatnonzero(split.train | split.val).tolist() == list(range(train))
    assert np.flatnonzero(split.val).tolist() == list(range(train - int(0.1 * count), train))
    assert np.flatnonzero(split.test).tolist() == list(range(train, train + test))
    assert not (split.train & split.val).any()


def test_trajectories_of_other_lengths_are_in_no_part():
    lengths = np.array([5, 6, 40, 41, 6, 6, 7, 3])
    split = split_in_order(lengths, (6, 40))
    assert np.flatnonzero(split.train).tolist() == [1, 2, 4, 5]
    assert np.flatnonzero(split.test).tolist() == [6]


@pytest.mark.parametrize(
    "changed",
    [
        {"node_features": np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [6.0, 6.0]])},
        {"edges": np.array([[0, 1, 0], [1, 2, 2]])},
        {"edge_features": np.array([[1.0], [2.0], [6.5]])},
        {"observed_nodes": np.array([[0], [1], [2], [0], [3]])},
        {"observed_weights": np.full((5, 1), 0.5)},
        {"lengths": np.array([2, 3])},
        {"leg_lengths": np.array([1, 2, 1])},
        {"coordinates": np.zeros((4, 2))},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_the_fingerprint_changes_with_everything_that_is_given(changed):
    assert toy().fingerprint == toy().fingerprint
    assert len(toy().fingerprint) == 16
    assert toy(**changed).fingerprint != toy().fingerprint


def test_the_fingerprint_is_also_that_of_the_split():
    lengths, weights = np.full(10, 2), np.ones((20, 1))
    legs = {"leg_edges": np.zeros(10, dtype=int), "leg_lengths": np.ones(10, dtype=int)}
    parts = {"observed_nodes": np.zeros((20, 1), dtype=int), "observed_weights": weights, "lengths": lengths, **legs}
    assert toy(**parts).fingerprint != toy(**parts, counted=(6, 40)).fingerprint
