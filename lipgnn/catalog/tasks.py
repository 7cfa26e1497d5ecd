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
    ranks : whether it is about the order of yes-or-no answers: of two classes, or of several labels for every item.
        The others are about the class that is predicted.
    """

    words: str = ""
    higher_is_better: bool = True
    perfect: float = 1.0
    ranks: bool = False


METRICS: dict[str, MetricEntry] = {
    "accuracy": MetricEntry("the share of items whose class is predicted", words="accuracy"),
    "roc-auc": MetricEntry(
        "the area under the ROC curve of two classes, or the mean over yes-or-no labels", words="ROC-AUC", ranks=True
    ),
    "average-precision": MetricEntry(
        "the mean precision at every yes of two classes, or the mean over yes-or-no labels",
        words="average precision",
        ranks=True,
    ),
    "macro-f1": MetricEntry("the mean over the classes of the F1 of each", words="macro-F1"),
}

AUTO_METRIC = "auto"
"""In the place of a metric: the one that the data set, or else its task, says."""

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
