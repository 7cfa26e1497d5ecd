"""What can be predicted, and the numbers that say how well."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lipgnn.catalog.dataset_entries import is_image_folder, is_path_folder
from lipgnn.catalog.datasets import dataset_entry
from lipgnn.catalog.entry import Entry, check_name

if TYPE_CHECKING:
    from lipgnn.tasks.task import Task


# What a metric can be about: the class that is predicted; the order of yes-or-no answers, of two classes or of several
# labels for every item; the choices of a walker at every node of its path.
ABOUT = CLASSES, ORDER, CHOICES = "classes", "order", "choices"


@dataclass(frozen=True)
class MetricEntry(Entry):
    """A number that says how good predictions are; `lipgnn.tasks.metrics` computes it.

    Attributes
    ----------
    words : its name in tables and figures.
    higher_is_better : its direction.
    perfect : the value beyond which nothing is left to learn.
    about : what it needs to be told, one of ABOUT.
    """

    words: str = ""
    higher_is_better: bool = True
    perfect: float = 1.0
    about: str = CLASSES


METRICS: dict[str, MetricEntry] = {
    "accuracy": MetricEntry("the share of items whose class is predicted", words="accuracy"),
    "roc-auc": MetricEntry(
        "the area under the ROC curve of two classes, or the mean over yes-or-no labels", words="ROC-AUC", about=ORDER
    ),
    "average-precision": MetricEntry(
        "the mean precision at every yes of two classes, or the mean over yes-or-no labels",
        words="average precision",
        about=ORDER,
    ),
    "macro-f1": MetricEntry("the mean over the classes of the F1 of each", words="macro-F1"),
    "choice-accuracy": MetricEntry(
        "the share of the edges of true paths that had the largest probability", words="choice accuracy", about=CHOICES
    ),
}


@dataclass(frozen=True)
class MeasureEntry(Entry):
    """A further number that runs of one task have beside their score: of the test part, at the epoch selected.

    Attributes
    ----------
    fraction : whether it is a share, which tables show in percent.
    higher_is_better : its direction.
    """

    fraction: bool = True
    higher_is_better: bool = True


def _cost(description: str) -> MeasureEntry:
    return MeasureEntry(description, fraction=False, higher_is_better=False)


# Those of task paths (Cordonnier & Loukas 2019), each a mean over windows or over decisions.
PATH_MEASURES: dict[str, MeasureEntry] = {
    "target_probability": MeasureEntry("the probability of the nodes of the true target"),
    "precision_top1": MeasureEntry("whether the most probable node is one of the target's"),
    "precision_top5": MeasureEntry("whether one of the five most probable nodes is one of the target's"),
    "choice_accuracy": MeasureEntry("the share of true edges that had the largest probability"),
    "choice_accuracy_deg3": MeasureEntry("the same of first edges and of nodes with more than two out-edges"),
    "path_nll": _cost("the negative log-likelihood of a true path"),
    "path_nll_deg3": _cost("the same of first edges and of nodes with more than two out-edges"),
}

# Those of task images, by the metric of the run.
IMAGE_MEASURES: dict[str, MeasureEntry] = {
    "turned_score": MeasureEntry("the mean score of images turned by 90, 180 and 270 degrees"),
    "mirrored_score": MeasureEntry("the score of mirrored images"),
}

MEASURES = {**PATH_MEASURES, **IMAGE_MEASURES}

AUTO_METRIC = "auto"
"""In the place of a metric: the one that the data set, or else its task, says."""

# What can be predicted. The name of a data set leads to its task, by `task_name`; that of nodes becomes labels where a
# node turns out to have several.
TASKS: dict[str, Entry] = {
    "nodes": Entry("one class for every node", implementation="lipgnn.tasks.nodes:Nodes"),
    "labels": Entry("several yes-or-no labels for every node", implementation="lipgnn.tasks.labels:Labels"),
    "trees": Entry(
        "NeighborsMatch: a key to look up at the leaves of a tree", implementation="lipgnn.tasks.trees:NeighborsMatch"
    ),
    "paths": Entry("where a path on a graph goes on", implementation="lipgnn.tasks.paths:Paths"),
    "images": Entry("one class for every image", implementation="lipgnn.tasks.images:Images"),
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


def task_name(dataset: str) -> str:
    """The name of the task that the name or path of a data set leads to: the one place that knows.

    Where the name, up to a colon, is that of a task, it is this one; else the one of the data set's entry in the
    catalog. A folder of the five files of trajectories is of paths, one of idx files of images, and
    all other data of nodes.
    """
    family = dataset.partition(":")[0]
    if family in TASKS:
        return family
    if entry := dataset_entry(dataset):
        return entry.task
    if is_image_folder(dataset) or is_image_folder(family):
        return "images"
    return "paths" if is_path_folder(dataset) else "nodes"


def task_of(dataset: str) -> Task:
    """The task that the name of a data set leads to."""
    return find_task(task_name(dataset))
