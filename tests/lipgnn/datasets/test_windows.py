"""Windows against loops over their definition."""

import networkx as nx
import numpy as np
import pytest

from lipgnn.catalog import PREDICTIONS
from lipgnn.datasets.trajectories import made
from lipgnn.datasets.windows import shortest_horizons, windows_of
from lipgnn.errors import UsageError


def on_a_ring(lengths, *, nodes=30, overlap=False, seed=0):
    """Walks around a ring with an edge each way between neighbours; with overlap, legs start with their last edge."""
    draw = np.random.RandomState(seed)
    around = np.arange(nodes)
    edges = np.concatenate([[around, (around + 1) % nodes], [(around + 1) % nodes, around]], axis=1)
    observed, legs = [], []
    for length in lengths:
        place = draw.randint(nodes)
        observed.append(place)
        for leg in range(length - 1):
            steps = draw.randint(1, 4)
            first = place - 1 if overlap and leg else place
            legs.append([edge % nodes for edge in range(first, place + steps)])
            place = (place + steps) % nodes
            observed.append(place)
    return made(
        "ring",
        node_features=np.zeros((nodes, 0)),
        edges=edges,
        edge_features=np.zeros((2 * nodes, 0)),
        observed_nodes=np.array(observed)[:, None],
        observed_weights=np.ones((len(observed), 1)),
        lengths=np.array(lengths),
        leg_edges=np.array([edge for leg in legs for edge in leg], dtype=int),
        leg_lengths=np.array([len(leg) for leg in legs], dtype=int),
    )


def by_the_book(lengths, observed, predict):
    """(trajectory, shown, start, target) of every window, observations counted within their trajectory."""
    for trajectory, length in enumerate(lengths):
        for first in range(length - observed):
            shown = list(range(first, first + observed))
            if predict == "next":
                yield trajectory, shown, shown[-1], shown[-1] + 1
            elif predict == "destination" or (predict == "start-to-target" and first == 0):
                yield trajectory, shown, shown[-1], length - 1
            elif predict == "between":
                for hidden in range(first + 1, first + observed + 1):
                    others = [place for place in range(first, first + observed + 1) if place != hidden]
                    yield trajectory, others, hidden - 1, hidden


def rows(windows, data):
    offset = data.first_observation[windows.trajectory]
    return list(
        zip(
            windows.trajectory.tolist(),
            (windows.observations - offset[:, None]).tolist(),
            (windows.start - offset).tolist(),
            (windows.target - offset).tolist(),
            strict=True,
        )
    )


def path_of(windows, number):
    return windows.edges[windows.first_edge[number] : windows.first_edge[number + 1]]


def test_g9_three_of_five_observations():
    data = on_a_ring([5])
    windows = windows_of(data, 3, "next")
    assert windows.observations.tolist() == [[0, 1, 2], [1, 2, 3]]
    assert (windows.start.tolist(), windows.target.tolist()) == ([2, 3], [3, 4])
    windows = windows_of(data, 3, "start-to-target")
    assert windows.observations.tolist() == [[0, 1, 2]]
    assert (windows.start.tolist(), windows.target.tolist()) == ([2], [4])
    windows = windows_of(data, 3, "destination")
    assert (windows.start.tolist(), windows.target.tolist()) == ([2, 3], [4, 4])
    windows = windows_of(data, 3, "between")
    assert windows.observations.tolist() == [[0, 2, 3], [0, 1, 3], [0, 1, 2], [1, 3, 4], [1, 2, 4], [1, 2, 3]]
    assert (windows.start.tolist(), windows.target.tolist()) == ([0, 1, 2, 1, 2, 3], [1, 2, 3, 2, 3, 4])


@pytest.mark.parametrize("predict", PREDICTIONS)
@pytest.mark.parametrize("observed", [1, 2, 5])
@pytest.mark.parametrize("overlap", [False, True])
def test_windows_are_those_of_a_loop_over_the_definition(predict, observed, overlap):
    lengths = [6, 1, 9, 5, 2, 12, 3]
    data = on_a_ring(lengths, overlap=overlap)
    windows = windows_of(data, observed, predict)
    assert rows(windows, data) == list(by_the_book(lengths, observed, predict))
    for number in range(len(windows)):
        path = path_of(windows, number)
        # Around the ring, edge by edge, to the node that is observed in the end.
        assert len(path) == windows.horizon[number] > 0
        assert (data.sources[path[1:]] == data.targets[path[:-1]]).all()
        assert data.targets[path[-1]] == data.observed_nodes[windows.target[number], 0]
        before = data.observed_nodes[windows.start[number], 0]
        begins_before = overlap and windows.start[number] not in data.first_observation
        assert data.sources[path[0]] == ((before - 1) % 30 if begins_before else before)


@pytest.mark.parametrize("predict", PREDICTIONS)
def test_trajectories_that_are_too_short_have_no_windows(predict):
    windows = windows_of(on_a_ring([3, 2, 1]), 3, predict)
    assert len(windows) == 0
    assert (windows.observations.shape, windows.first_edge.tolist(), windows.edges.tolist()) == ((0, 3), [0], [])


def test_a_path_over_legs_that_overlap_takes_the_shared_part_once():
    """The second leg begins with an edge in the middle of the first, the third with the second's first."""
    data = made(
        "overlaps",
        node_features=np.zeros((6, 0)),
        edges=np.array([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]]),
        edge_features=np.zeros((6, 0)),
        observed_nodes=np.array([[0], [4], [4], [0]]),
        observed_weights=np.ones((4, 1)),
        lengths=np.array([4]),
        leg_edges=np.array([0, 1, 2, 3, 2, 3, 2, 3, 4, 5]),
        leg_lengths=np.array([4, 2, 4]),
    )
    assert windows_of(data, 1, "start-to-target").edges.tolist() == [0, 1, 2, 3, 4, 5]
    assert windows_of(data, 1, "next").edges.tolist() == data.leg_edges.tolist()


def test_a_self_loop_may_be_taken_twice():
    data = made(
        "loop",
        node_features=np.zeros((2, 0)),
        edges=np.array([[0, 1], [1, 1]]),
        edge_features=np.zeros((2, 0)),
        observed_nodes=np.array([[0], [1], [1]]),
        observed_weights=np.ones((3, 1)),
        lengths=np.array([3]),
        leg_edges=np.array([0, 1, 1]),
        leg_lengths=np.array([2, 1]),
    )
    assert windows_of(data, 1, "start-to-target").edges.tolist() == [0, 1, 1]


def test_what_is_predicted_has_a_name():
    with pytest.raises(UsageError, match="prediction 'far'"):
        windows_of(on_a_ring([5]), 3, "far")


@pytest.mark.parametrize("factor", [0.1, 1.0, 1.1, 1.5])
def test_shortest_horizons_are_those_of_networkx(factor):
    data = on_a_ring([6, 9, 7])
    windows = windows_of(data, 2, "destination")
    graph = nx.DiGraph(zip(data.sources.tolist(), data.targets.tolist(), strict=True))
    nodes = data.observed_nodes[:, 0]
    expected = [
        max(int(factor * nx.shortest_path_length(graph, nodes[start], nodes[target]) + 1e-9), 1)
        for start, target in zip(windows.start, windows.target, strict=True)
    ]
    assert shortest_horizons(data, windows, factor).tolist() == expected


def test_shortest_horizons_look_at_the_most_probable_nodes_and_not_at_the_path():
    """Nodes 0 → 1 → 2 → 3 and 4 alone; from 3 to 0 only against the edges, to 4 not at all."""
    data = made(
        "line",
        node_features=np.zeros((5, 0)),
        edges=np.array([[0, 1, 2, 0], [1, 2, 3, 1]]),
        edge_features=np.zeros((4, 0)),
        observed_nodes=np.array([[4, 0], [3, 4], [0, 2], [4, 1]]),
        observed_weights=np.array([[0.1, 0.9], [0.5, 0.5], [0.6, 0.4], [0.7, 0.3]]),
        lengths=np.array([4]),
        leg_edges=np.array([0, 0, 0]),
        leg_lengths=np.array([1, 1, 1]),
    )
    windows = windows_of(data, 1, "next")
    assert shortest_horizons(data, windows, 2).tolist() == [6, 6, 1]
    assert shortest_horizons(data, windows, 1.15 * 20 / 3).tolist() == [23, 23, 1]
