import pytest

from lipgnn.catalog import TASKS, find_task, task_of


@pytest.mark.parametrize(
    "dataset, task",
    [("cora", "nodes"), ("trees:4", "trees"), ("trees", "trees"), ("my/trees:4", "nodes"), ("ogbn-proteins", "nodes")],
)
def test_the_name_of_a_data_set_leads_to_its_task(dataset, task):
    assert task_of(dataset) is find_task(task)


def test_tasks_are_described():
    assert all(entry.description and entry.implementation for entry in TASKS.values())
