"""Statistics against a graph counted by hand, and the published numbers of the shipped data."""

from __future__ import annotations

import json

import numpy as np
import pytest
from five_files import write_five_files
from pictures import write_idx_folder

from lipgnn.datasets import describe, load, prepare, read
from lipgnn.datasets.images import read_pictures
from lipgnn.datasets.paths import read_paths
from lipgnn.datasets.statistics import describe_images, describe_paths


def test_a_graph_counted_by_hand(make_source):
    facts = describe(make_source())
    # Pairs 0-1, 1-2, 2-4; node 3 has only its self-loop, node 5 nothing. Labels 0 1 1 0 2 ?.
    assert facts["edges"] == 3 and facts["edges_listed"] == 6
    assert facts["duplicates"] == 1 and facts["self_loops"] == 1
    assert facts["homophily"] == pytest.approx(1 / 3)
    assert (facts["components"], facts["largest_component"], facts["isolated"]) == (3, 4, 2)
    assert facts["degree"] == {"min": 0, "median": 1.0, "mean": 1.0, "max": 2}
    assert facts["feature_density"] == pytest.approx(7 / 12)
    assert [entry["nodes"] for entry in facts["classes"]] == [2, 2, 1] and facts["unlabelled"] == 1
    assert facts["splits"] == {"public": {"train": 2, "val": 1, "test": 2}}


def test_directed_edges_are_ordered_pairs(make_source):
    facts = describe(make_source(directed=True))
    # (2, 1), (0, 1), (1, 0) and (4, 2).
    assert facts["edges"] == 4 and facts["directed"]
    assert facts["degree"]["mean"] == pytest.approx(4 / 6)
    assert facts["components"] == 3


def test_no_edge_has_no_homophily(make_source):
    facts = describe(make_source(edges=np.zeros((2, 0), np.int64)))
    assert facts["homophily"] is None and facts["isolated"] == 6 and facts["duplicates"] == 0


def test_a_prepared_data_set_adds_its_split_and_all_is_json(make_source):
    source = make_source(class_names=("a", "b", "c"))
    facts = describe(prepare(source, source.splits["public"]))
    assert facts["splits"]["chosen"] == facts["splits"]["public"]
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert [entry["name"] for entry in facts["classes"]] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("name", "counts", "listed", "sizes", "homophily"),
    # (nodes, edges, features, classes), (entries of the neighbour lists, duplicates, self-loops).
    [
        ("cora", (2708, 5278, 1433, 7), (2 * 5429, 302, 0), (140, 500, 1000), 0.81),
        ("citeseer", (3327, 4552, 3703, 6), (2 * 4732, 236, 124), (120, 500, 1000), 0.74),
        ("pubmed", (19717, 44324, 500, 3), (2 * 44338, 25, 3), (60, 500, 1000), 0.80),
    ],
)
def test_published_numbers(name, counts, listed, sizes, homophily):
    facts = describe(load(name))
    assert (facts["nodes"], facts["edges"], facts["features"], len(facts["classes"])) == counts
    assert (facts["edges_listed"], facts["duplicates"], facts["self_loops"]) == listed
    assert facts["edges_listed"] == 2 * facts["edges"] + facts["duplicates"] + facts["self_loops"]
    assert tuple(facts["splits"]["public"].values()) == sizes
    assert facts["homophily"] == pytest.approx(homophily, abs=0.005)


def test_the_fifteen_unlabelled_nodes_of_citeseer_have_neighbours_and_no_features():
    source = read("citeseer")
    facts = describe(source)
    unlabelled = np.flatnonzero(source.labels < 0)
    assert facts["unlabelled"] == len(unlabelled) == 15
    assert unlabelled.tolist() == [
        2407,
        2489,
        2553,
        2682,
        2781,
        2953,
        3042,
        3063,
        *(3212, 3214, 3250, 3292),
        *(3305, 3306, 3309),
    ]
    assert np.isin(unlabelled, source.edges[:, source.edges[0] != source.edges[1]]).all()
    assert source.features[unlabelled].nnz == 0
    assert facts["isolated"] == 48 and facts["largest_component"] == 2120


def test_several_labels_are_counted_task_by_task_and_have_no_homophily(make_source):
    labels = np.array([[0, 1], [1, 1], [0, 1], [1, 0], [0, np.nan], [np.nan, np.nan]], dtype=np.float32)
    facts = describe(make_source(labels=labels, features=np.empty((6, 0), np.float32)))
    assert [entry["nodes"] for entry in facts["classes"]] == [2, 3]
    assert facts["unlabelled"] == 1 and facts["homophily"] is None
    assert facts["features"] == 0 and facts["feature_density"] is None
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts


def test_trajectories_counted_by_hand(tmp_path):
    facts = describe_paths(read_paths(write_five_files(tmp_path / "mine")))
    assert json.loads(json.dumps(facts)) == {
        "name": str(tmp_path / "mine"),
        "task": "paths",
        "directed": True,
        "nodes": 8,
        "edges": 8,
        "dead_ends": 1,
        "features": 1,
        "edge_features": 2,
        "coordinates": False,
        "trajectories": 10,
        "observations": {"total": 40, "nodes_each": 2, "min": 4, "median": 4.0, "mean": 4.0, "max": 4},
        "legs": {"total": 30, "min": 1, "median": 2.0, "mean": pytest.approx(5 / 3), "max": 2},
        "splits": {"public": {"train": 7, "val": 1, "test": 2}},
        "left_out": 0,
        "out_degree": {"min": 0, "median": 1.0, "mean": 1.0, "max": 2},
    }


def test_types_of_edges_are_counted(make_source):
    edges = np.array([[0, 1, 0, 1, 2, 3], [1, 0, 1, 2, 2, 4]])
    source = make_source(edges=edges, edge_types=np.array([0, 0, 2, 0, 1, 2]))
    facts = describe(source)
    # 0-1 of types 0 and 2, 1-2 of type 0 and 3-4 of type 2; type 1 is that of a self-loop alone.
    assert facts["edge_types"] == [2, 0, 2] and facts["edges"] == 4
    assert facts["duplicates"] == 0 and facts["self_loops"] == 1
    repeated = describe(make_source(edges=np.tile(edges, 2), edge_types=np.tile(source.edge_types, 2)))
    assert repeated["duplicates"] == 6 and repeated["edge_types"] == [2, 0, 2]
    directed = describe(make_source(edges=edges, edge_types=source.edge_types, directed=True))
    assert directed["edge_types"] == [3, 0, 2]
    assert "edge_types" not in describe(make_source())


def test_images_counted_by_hand(tmp_path):
    facts = describe_images(read_pictures(write_idx_folder(tmp_path / "mine")))
    json.dumps(facts)
    assert (facts["task"], facts["images"], facts["side"], facts["nodes"]) == ("images", 72, 8, 64)
    assert [row["images"] for row in facts["classes"]] == [24, 24, 24] and facts["published_test"] == 12
    assert facts["splits"] == {"public": {"train": 50, "val": 10, "test": 12}}
