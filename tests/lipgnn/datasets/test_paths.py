"""Trajectories by name or path."""

import pytest
from five_files import write_five_files

from lipgnn.datasets import read
from lipgnn.datasets.paths import has_trajectories, load_paths, read_paths
from lipgnn.errors import DataError, UsageError


@pytest.fixture
def folder(tmp_path):
    return write_five_files(tmp_path / "mine")


def test_a_folder_by_its_path(folder):
    data = load_paths(str(folder))
    assert (data.name, data.task, len(data.lengths)) == (str(folder), "paths", 10)
    assert read_paths(folder).fingerprint == data.fingerprint
    assert has_trajectories(folder) and has_trajectories(str(folder))


def test_a_name_in_the_data_directory(tmp_path):
    write_five_files(tmp_path / "gps" / "laussane", rounds=2)
    write_five_files(tmp_path / "mine")
    assert load_paths("lausanne", data_dir=tmp_path).name == "lausanne"
    assert read_paths("mine", data_dir=tmp_path).name == "mine"
    assert has_trajectories("mine", data_dir=tmp_path) and not has_trajectories("yours", data_dir=tmp_path)
    with pytest.raises(DataError, match="'wikispeedia' is not in the data directory") as caught:
        load_paths("wikispeedia", data_dir=tmp_path)
    assert str(tmp_path / "wikispeedia" / "gretel") in caught.value.hint


def test_generated_roads():
    assert load_paths("planar:250").num_nodes == 250
    assert has_trajectories("planar") and has_trajectories("mesh:900") and not has_trajectories("cora")


@pytest.mark.parametrize(
    "options, told",
    [
        ({"split": "random:0"}, "no other split than 'public', got 'random:0'"),
        ({"missing": 0.5}, r"no other missing than 0\.0, got 0\.5"),
        ({"features": "svd"}, "no other features than 'raw', got 'svd'"),
        ({"features": "row"}, "no other features than 'raw', got 'row'"),
    ],
)
def test_trajectories_have_one_split_and_their_own_features(folder, options, told):
    for name in (str(folder), "planar"):
        with pytest.raises(UsageError, match=told):
            load_paths(name, **options)


def test_edges_are_directed():
    for name in ("lausanne:undirected", "planar:undirected"):
        with pytest.raises(UsageError, match="follow the direction"):
            load_paths(name)


def test_other_data_is_refused(tmp_path):
    for name in ("cora", str(tmp_path)):
        with pytest.raises(DataError, match="it is no folder of trajectories"):
            load_paths(name)


@pytest.mark.parametrize("name", ["planar", "mesh:400", "lausanne", "folder"])
def test_nothing_else_reads_them_as_nodes_with_classes(folder, name):
    with pytest.raises(UsageError, match="is trajectories on a graph"):
        read(str(folder) if name == "folder" else name)
