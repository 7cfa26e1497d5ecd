"""By which metric a run is measured, and whether its data can be."""

from __future__ import annotations

from lipgnn.catalog import METRICS, find_task
from lipgnn.errors import DataError, UsageError
from lipgnn.spec.run import RunSpec
from lipgnn.tasks.task import TaskData


def measured(spec: RunSpec, dataset: TaskData) -> RunSpec:
    """The run with the name of its metric, where that could not be told without its data; what a run id is made of.

    Raises
    ------
    UsageError : the metric asked for is of two classes where there are more, or of classes where there are none.
    DataError : it is about the order of yes and no, and a part of the split has one of them alone.
    """
    task = find_task(dataset.task)
    metric = task.metric_for(spec.metric)
    entry = METRICS[metric]
    if metric != task.metric:
        _check_kind(metric, dataset, has_classes=task.has_classes)
    if entry.ranks:
        _check_parts(entry.words, dataset)
    return spec if metric == spec.metric else spec.with_values(metric=metric)


def _check_kind(metric: str, dataset: TaskData, *, has_classes: bool) -> None:
    words, ranks = METRICS[metric].words, METRICS[metric].ranks
    others = [name for name, entry in METRICS.items() if entry.ranks != ranks]
    if has_classes and ranks and dataset.num_classes != 2:
        raise UsageError(
            f"Metric {words} is of two classes, and data set {dataset.name!r} has {dataset.num_classes}.",
            f"Use --metric {' or '.join(others)}.",
        )
    if not has_classes and not ranks:
        raise UsageError(
            f"Metric {words} is of items with one class each, and those of data set {dataset.name!r} have none.",
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
