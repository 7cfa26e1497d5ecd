"""Folders of trajectories and of images, recognized by the names of their files."""

import pytest
from five_files import write_five_files
from pictures import write_idx_folder

from lipgnn.catalog import DATASETS, PATH_FILES, TASKS, PathsEntry, is_image_folder, is_path_folder, task_name


def test_most_of_the_five_files_make_a_folder_of_trajectories(tmp_path):
    folder = write_five_files(tmp_path / "mine")
    assert is_path_folder(folder) and is_path_folder(str(folder))
    (folder / "edges.txt").rename(folder / "edges_only.txt")
    for number, file in enumerate(("nodes", "lengths", "observations")):
        assert is_path_folder(folder) == (number < 3)
        (folder / f"{file}.txt").unlink()
    assert not is_path_folder(folder)


@pytest.mark.parametrize("path", ["", "nowhere", "cora", "a\0b"])
def test_what_is_no_folder(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    assert not is_path_folder(path)


def test_both_files_of_edges_count_once(tmp_path):
    for file in ("edges", "edges_only", "nodes"):
        (tmp_path / f"{file}.txt").touch()
    assert not is_path_folder(tmp_path)
    assert len(PATH_FILES) == 5


def test_every_data_set_is_of_a_task():
    assert {entry.task for entry in DATASETS.values()} <= TASKS.keys()
    paths = {name for name, entry in DATASETS.items() if entry.task == "paths"}
    assert paths == {"planar", "mesh", "lausanne", "geolife", "wikispeedia"}
    assert all(isinstance(DATASETS[name], PathsEntry) for name in paths)


def test_the_authors_filter_by_length():
    counted = {name: DATASETS[name].counted for name in ("lausanne", "geolife", "wikispeedia", "planar")}
    assert counted == {"lausanne": (6, 40), "geolife": (6, 40), "wikispeedia": (5, 7), "planar": None}
    assert [name for name, entry in DATASETS.items() if getattr(entry, "cut_weights", False)] == ["geolife"]
    assert PathsEntry("").counted is None


@pytest.mark.parametrize("packed", [True, False])
def test_any_of_the_idx_files_makes_a_folder_of_images(tmp_path, packed):
    folder = write_idx_folder(tmp_path / "mine", packed=packed)
    assert task_name(str(folder)) == task_name(f"{folder}:4:rotated") == "images"
    for file in sorted(folder.iterdir()):
        assert is_image_folder(folder) and not is_path_folder(folder)
        file.unlink()
    assert not is_image_folder(folder) and task_name(str(folder)) == "nodes"
