"""What can be predicted, and the numbers that say how well."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lipgnn.catalog.entry import Entry, check_name

if TYPE_CHECKING:
    from lipgnn.tasks.task import Task


@dataclass(frozen=True)
class MetricEntry(Entry):
    """A number that says how good predictions are; `lipgnn.tasks.metrics` computes it.

    Attributes
    ----------
    words : its name in tables and figures.
    higher_is_better : its direction.
    perfect : the value beyond which nothing is left to learn.
    """

    words: str = ""
    higher_is_better: bool = True
    perfect: float = 1.0


METRICS: dict[str, MetricEntry] = {
    "accuracy": MetricEntry("the share of items whose class is predicted", words="accuracy"),
    "roc-auc": MetricEntry("the area under the ROC curve, the mean over the yes-or-no labels", words="ROC-AUC"),
}

# What can be predicted. Where the name of a data set, up to a colon, is the name of a task, the data is of that task;
# all other data is of nodes, and of labels where a node turns out to have several.
TASKS: dict[str, Entry] = {
    "nodes": Entry("one class for every node", implementation="lipgnn.tasks.nodes:Nodes"),
    "labels": Entry("several yes-or-no labels for every node", implementation="lipgnn.tasks.labels:Labels"),
    "trees": Entry(
        "NeighborsMatch: a key to look up at the leaves of a tree", implementation="lipgnn.tasks.trees:NeighborsMatch"
    ),
}


@functools.cache
def find_task(name: str) -> Task:
    """The task of a name among TASKS; see `lipgnn.tasks.task.Task`.

    Raises
    ------
    UsageError : there is no such task.
    """
    check_name("task", name, TASKS)
    return TASKS[name].load()()


def task_of(dataset: str) -> Task:
    """The task that the name of a data set leads to: the one place that knows."""
    family = dataset.partition(":")[0]
    return find_task(family if family in TASKS else "nodes")
