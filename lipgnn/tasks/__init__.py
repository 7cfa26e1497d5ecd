"""What is predicted and how it is scored: one task a file, the batches it is trained in beside it.

The name of a data set leads to its task (`lipgnn.catalog.task_of`), and the data, once read, says which one it is of
(`dataset.task`). Importing this package does not import torch.
"""

from __future__ import annotations

from pathlib import Path

from lipgnn import datasets
from lipgnn.catalog import find_task, task_of
from lipgnn.tasks.task import FurtherTable, Task, TaskData, remarks_on

__all__ = [
    "FurtherTable",
    "Task",
    "TaskData",
    "find_task",
    "identify",
    "load",
    "metric_of_data",
    "remarks_on",
    "task_of",
]


def load(
    name: str, *, split: str = "public", missing: float = 0.0, features: str = "raw", data_dir: Path | None = None
) -> TaskData:
    """Read or make the data set that a name or path leads to, whatever its task.

    Parameters
    ----------
    name : a name of the catalog or the data directory, or a path in any readable format.
    split : which split; see `lipgnn.datasets.splits`.
    missing : the share of the items outside the training part whose features are erased.
    features : the form of the features, one of `lipgnn.catalog.FEATURE_FORMS`.
    data_dir : where to look for data that does not ship, in place of `lipgnn.datasets.data_directory()`.

    Raises
    ------
    DataError : data that is missing or damaged.
    UsageError : an unknown name or split, or an option out of range.
    """
    return task_of(name).load(name, split=split, missing=missing, features=features, data_dir=data_dir)


def identify(name: str, *, split: str = "public", data_dir: Path | None = None) -> str:
    """The fingerprint of the data that `load` gives, whatever the feature options; errors as there."""
    return task_of(name).identify(name, split=split, data_dir=data_dir)


def metric_of_data(name: str, *, data_dir: Path | None = None) -> str:
    """The metric of a data set where none is asked for, whether its name tells it or its labels; errors as there."""
    task = task_of(name)
    if named := task.metric_of(name):
        return named
    return find_task("labels" if datasets.read(name, data_dir=data_dir).several_labels else "nodes").metric
