"""Walks on generated roads against their definition."""

import itertools

import networkx as nx
import numpy as np
import pytest

from lipgnn.datasets.generated.roads import load_roads
from lipgnn.datasets.windows import windows_of
from lipgnn.errors import UsageError


@pytest.fixture(scope="module", params=["planar", "mesh"])
def roads(request):
    return load_roads(request.param)


def edges_of(data):
    return set(zip(data.sources.tolist(), data.targets.tolist(), strict=True))


def test_counts(roads):
    assert (roads.num_nodes, len(roads.lengths)) == (400, 400)
    assert (roads.lengths.min(), roads.lengths.max()) == (7, 12)
    assert roads.shape == (0, 1) and roads.observed_nodes.shape == (roads.lengths.sum(), 5)
    assert [int(mask.sum()) for mask in roads.split.parts.values()] == [280, 40, 80]
    assert len(roads.sources) == roads.given_edges, "no dead end"


def test_roads_lead_both_ways_once_and_are_short(roads):
    edges = edges_of(roads)
    assert len(edges) == roads.given_edges
    assert edges == {(target, source) for source, target in edges}
    lengths = np.linalg.norm(roads.coordinates[roads.sources] - roads.coordinates[roads.targets], axis=1)
    assert lengths.min() > 0 and lengths.max() < 0.2
    # The one feature is the length, standardized.
    assert np.corrcoef(lengths, roads.edge_features[:, 0])[0, 1] == pytest.approx(1, abs=1e-5)
    assert nx.is_connected(nx.Graph(edges))


def test_planar_is_planar_and_of_the_size_of_the_reference():
    """400 points had 2326 directed edges in a separate implementation; no triangulation has more than 6 N − 12."""
    data = load_roads("planar")
    assert nx.check_planarity(nx.Graph(edges_of(data)))[0]
    assert data.given_edges == pytest.approx(2326, rel=0.01)


def test_mesh_is_a_grid_with_diagonals():
    data = load_roads("mesh:225")
    touching = {
        (a * 15 + b, (a + down) * 15 + b + right)
        for a, b, down, right in itertools.product(range(15), range(15), (-1, 0, 1), (-1, 0, 1))
        if (down, right) != (0, 0) and 0 <= a + down < 15 and 0 <= b + right < 15
    }
    assert edges_of(data) == touching


def test_walks_are_paths_that_keep_their_heading(roads):
    windows = windows_of(roads, 1, "start-to-target")
    for number in range(len(windows)):
        path = windows.edges[windows.first_edge[number] : windows.first_edge[number + 1]]
        assert len(path) == 2 * (roads.lengths[number] - 1)
        assert (roads.targets[path[:-1]] == roads.sources[path[1:]]).all()
        steps = roads.coordinates[roads.targets[path]] - roads.coordinates[roads.sources[path]]
        whole = steps.sum(axis=0)
        cosines = steps @ whole / np.linalg.norm(steps, axis=1) / np.linalg.norm(whole)
        # Each is .3 with its heading, but for a deviation of .1; the whole of a walk is not far from the heading.
        assert cosines.mean() > 0.6 and cosines.min() > -0.6


def test_observations_are_the_nearest_nodes_by_inverse_distance(roads):
    """The node of the walk is the likeliest one nearly always, and the weights order the nodes by their distance."""
    first = roads.first_observation[:-1]
    walked = roads.sources[roads.leg_edges[roads.first_leg_edge[first]]]
    likeliest = roads.observed_nodes[np.arange(len(roads.observed_nodes)), roads.observed_weights.argmax(axis=1)]
    assert (likeliest[first] == walked).mean() > 0.9
    assert roads.observed_weights.sum(axis=1) == pytest.approx(1)
    assert (np.diff(roads.observed_weights, axis=1) <= 0).all()
    spread = np.linalg.norm(roads.coordinates[roads.observed_nodes] - roads.coordinates[likeliest][:, None], axis=2)
    assert spread.max() < 0.2


def test_a_uniform_walk_has_the_likelihood_of_the_reference():
    """3.56 for the mean path of the test part, in a separate implementation on points of its own."""
    data = load_roads("planar")
    windows = windows_of(data, 5, "next")
    degree = np.bincount(data.sources)
    costs = np.add.reduceat(np.log(degree[data.sources[windows.edges]]), windows.first_edge[:-1])
    assert costs[data.split.test[windows.trajectory]].mean() == pytest.approx(3.56, abs=0.05)


def test_every_call_gives_the_same():
    # Drawn once with numpy 2.4 and scipy 1.17; runs on these are comparable only as long as this stays.
    assert load_roads("planar").fingerprint == load_roads("planar:400").fingerprint == "3b24bdfb7f8e0d87"
    assert load_roads("mesh").fingerprint == "d81d81da525ac5ac"


@pytest.mark.parametrize("name", ["planar:200", "mesh:200", "planar:2000", "mesh:901"])
def test_other_sizes(name):
    data = load_roads(name)
    kind, size = name.split(":")
    assert data.num_nodes == (int(size) if kind == "planar" else int(int(size) ** 0.5) ** 2)
    assert data.name == name and len(data.lengths) == 400 and data.lengths.min() >= 7


@pytest.mark.parametrize("name", ["planar:199", "mesh:100001", "planar:", "planar:4:4", "planar:-4", "roads"])
def test_roads_that_there_are_not(name):
    with pytest.raises(UsageError, match=r"asks for|is no data set of roads") as caught:
        load_roads(name)
    assert "planar:N or mesh:N with N from 200 to 100000" in caught.value.hint


def test_what_was_asked_for_is_said():
    with pytest.raises(UsageError, match="'planar:50' asks for 50 nodes"):
        load_roads("planar:50")
