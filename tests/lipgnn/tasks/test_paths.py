"""The task of trajectories: its data."""

import pytest
from five_files import write_five_files

from lipgnn.errors import UsageError
from lipgnn.tasks import find_task, identify, load, task_of
from lipgnn.tasks.paths import Paths


def test_names_and_folders_lead_to_the_task(tmp_path):
    folder = str(write_five_files(tmp_path / "mine"))
    for name in ("planar", folder):
        task = task_of(name)
        assert isinstance(task, Paths) and task is find_task("paths")
        data = load(name)
        assert find_task(data.task) is task and data.fingerprint == identify(name)


def test_a_run_takes_the_data_as_it_is():
    assert task_of("planar").defaults("planar", "gat")["features"] == "raw"
    with pytest.raises(UsageError, match="no other split"):
        identify("planar", split="random:3")
