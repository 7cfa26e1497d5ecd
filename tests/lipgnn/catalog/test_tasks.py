import pytest
from five_files import write_five_files

from lipgnn.catalog import TASKS, find_task, task_of


@pytest.mark.parametrize(
    "dataset, task",
    [
        ("cora", "nodes"),
        ("trees:4", "trees"),
        ("trees", "trees"),
        ("my/trees:4", "nodes"),
        ("ogbn-proteins", "nodes"),
        *(
            (name, "paths")
            for name in ("planar", "planar:900", "mesh", "lausanne", "/some/where/gps/geolife", "wikispeedia")
        ),
    ],
)
def test_the_name_of_a_data_set_leads_to_its_task(dataset, task):
    assert task_of(dataset) is find_task(task)


def test_a_folder_of_trajectories_is_of_paths(tmp_path):
    folder = write_five_files(tmp_path / "mine")
    assert task_of(str(folder)) is find_task("paths")
    assert task_of(str(tmp_path)) is find_task("nodes")


def test_tasks_are_described():
    assert all(entry.description and entry.implementation for entry in TASKS.values())
