"""What of a run its data decides: by which metric it is measured, whether that can be, and the form of features."""

from __future__ import annotations

from lipgnn.catalog import AUTO_FORM, CHOICES, CLASSES, METRICS, ORDER, find_task
from lipgnn.errors import DataError, UsageError
from lipgnn.spec.run import RunSpec
from lipgnn.tasks.task import Task, TaskData


def measured(spec: RunSpec, dataset: TaskData) -> RunSpec:
    """The run with its metric and the form of its features, where its data decides; what a run id is made of.

    Raises
    ------
    UsageError : the metric asked for is of two classes where there are more, or of what items do not have; or another
        option does not fit the data.
    DataError : it is about the order of yes and no, and a part of the split has one of them alone.
    """
    task = find_task(dataset.task)
    task.check_data(spec, dataset)
    metric = task.metric_for(spec.metric)
    entry = METRICS[metric]
    if metric != task.metric:
        _check_kind(metric, dataset, task)
    if entry.about == ORDER:
        _check_parts(entry.words, dataset)
    found = {"metric": metric}
    if spec.features == AUTO_FORM:
        found["features"] = dataset.form
    known = all(getattr(spec, name) == value for name, value in found.items())
    return spec if known else spec.with_values(**found)


_ITEMS = {
    CLASSES: "items with one class each, and those of data set {name!r} have none",
    ORDER: "yes-or-no answers, and data set {name!r} asks for none",
    CHOICES: "walks along edges, and data set {name!r} has none",
}


def _check_kind(metric: str, dataset: TaskData, task: Task) -> None:
    words, about = METRICS[metric].words, METRICS[metric].about
    others = [name for name, entry in METRICS.items() if entry.about in task.scored and entry.about != about]
    if about not in task.scored:
        raise UsageError(
            f"Metric {words} is of {_ITEMS[about].format(name=dataset.name)}.",
            f"Use --metric {' or '.join(others)}.",
        )
    if task.has_classes and about == ORDER and dataset.shape[1] != 2:
        raise UsageError(
            f"Metric {words} is of two classes, and data set {dataset.name!r} has {dataset.shape[1]}.",
            f"Use --metric {' or '.join(others)}.",
        )


def _check_parts(words: str, dataset: TaskData) -> None:
    for part, mask in dataset.split.parts.items():
        labels = dataset.labels_array[mask]
        # An unknown label, NaN, is neither.
        if not ((labels == 0).any(axis=0) & (labels == 1).any(axis=0)).any():
            raise DataError(
                f"Metric {words} compares two kinds of items, and the {part} part of {dataset.name!r} has one alone.",
                "Choose another --split, or --metric accuracy.",
            )
