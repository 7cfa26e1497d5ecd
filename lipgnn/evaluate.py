"""A saved model on data: accuracies, a table by class, confusion, and how spread its attention is."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from lipgnn.datasets import Dataset, prepare
from lipgnn.errors import DataError, UsageError
from lipgnn.measures.features import attention_entropy
from lipgnn.nn.contract import attended
from lipgnn.nn.spread import spread_of
from lipgnn.tasks import FurtherTable, Task, TaskData, find_task, load
from lipgnn.tasks.batches import logits_of
from lipgnn.tasks.official import official_scores
from lipgnn.tasks.saved import SavedModel
from lipgnn.tasks.typed import tells_types_apart


@dataclass(frozen=True)
class Evaluation:
    """What a model does on a data set.

    Attributes
    ----------
    metric : the name of the score, one of `lipgnn.catalog.METRICS`.
    accuracy : the metric on every part of the split: train, val, test; None where it has nothing to say of a part.
    official : the same by OGB's own evaluator, for its data sets; None for others.
    classes : for every class of the test part: name, support, precision, recall, f1 (None where undefined). None if
        labels are no classes.
    confusion : confusion[true][predicted], test part; None as well.
    attention_entropy : for every layer, mean over heads and nodes of H(α_i) / log n_i, where 1 is uniform;
        nodes with a single neighbour say nothing and are left out. Of many graphs, a batch is looked at. None for
        layers without attention.
    tables : what its task alone has to show of the test part, by name.
    """

    metric: str
    accuracy: dict[str, float | None]
    official: dict[str, float | None] | None
    classes: list[dict[str, Any]] | None
    confusion: list[list[int]] | None
    attention_entropy: list[float | None] | None
    tables: dict[str, FurtherTable]


@torch.no_grad()
def evaluate(saved: SavedModel, dataset: TaskData, device: torch.device, *, rotations: bool = False) -> Evaluation:
    """Run the model without dropout.

    Parameters
    ----------
    rotations : add the tables of images that are turned and mirrored.

    Raises
    ------
    DataError : the data set has other numbers of features or classes than the model.
    UsageError : rotations of data that has no images.
    """
    _check_shape(saved, dataset)
    network = saved.network.to(device).eval()
    task = find_task(dataset.task)
    batches = task.batches(saved.spec, dataset, device)
    turned = task.rotations(saved.spec, dataset, network, batches) if rotations else {}
    logits, labels = logits_of(network, batches), batches.labels
    parts = {part: (logits[items], labels[items]) for part, items in batches.parts.items()}
    metric = task.metric_for(saved.spec.metric)
    found = {part: _score(task, metric, *both) for part, both in parts.items()}
    official = official_scores(dataset.name, parts)
    confusion = classes = entropy = None
    if task.has_classes:
        test = batches.parts["test"]
        confusion = _confusion(labels[test], logits[test].argmax(dim=1), dataset.num_classes)
        names = saved.class_names or dataset.class_names or [str(k) for k in range(dataset.num_classes)]
        classes = _by_class(confusion, names)
        confusion = confusion.tolist()
    if network.has_attention:
        whole = batches.whole()
        graph = network.layer_graph(whole.graph)
        attention = network.attention(whole.graph, whole.features)
        edges = attended(network.blocks[0].parts, graph)
        found_entropy = (attention_entropy(edges, spread_of(graph, weights)).item() for weights in attention)
        entropy = [None if math.isnan(value) else value for value in found_entropy]
    tables = task.further_tables(saved.spec, dataset, network, batches)
    return Evaluation(metric, found, official, classes, confusion, entropy, {**tables, **turned})


def looks(saved: SavedModel, dataset: TaskData, device: torch.device, number: int) -> dict[str, Any]:
    """Where the model looks in an image of the test part (see `lipgnn.tasks.rotations.looks_of`).

    Raises
    ------
    DataError : as in `evaluate`.
    UsageError : the data has no images, or not so many.
    """
    _check_shape(saved, dataset)
    task = find_task(dataset.task)
    batches = task.batches(saved.spec, dataset, device)
    return task.looks(saved.spec, dataset, saved.network.to(device).eval(), batches, number)


def data_for(saved: SavedModel, dataset: str | None = None, split: str | None = None) -> TaskData:
    """The data to look at a model on: its own by default, which must be the very data it was trained on.

    Parameters
    ----------
    dataset, split : other data or another split; the options of features stay the model's.

    Raises
    ------
    DataError : the data cannot be read, or has changed since the training.
    UsageError : an unknown name or split.
    """
    spec = saved.spec
    with contextlib.nullcontext() if dataset or split else _own_data(spec.dataset):
        data = load(dataset or spec.dataset, split=split or spec.split, missing=spec.missing, features=spec.features)
    if dataset is None and split is None and data.fingerprint != saved.fingerprint:
        raise DataError(
            f"Data set {spec.dataset!r} has fingerprint {data.fingerprint}, but the model was trained on "
            f"{saved.fingerprint}: the data has changed.",
            f"To evaluate on it all the same, say so: --dataset {spec.dataset}",
        )
    return at_scale_of(saved, data)


@contextlib.contextmanager
def _own_data(name: str) -> Iterator[None]:
    """Nobody typed the name of this data, so that it is unknown is no wrong use."""
    try:
        yield
    except UsageError as error:
        raise DataError(
            f"The model was trained on {name!r}, which is not here as it was: {error.message}",
            "Set LIPGNN_DATA to the folder that has it, or choose other data with --dataset.",
        ) from error


def at_scale_of(saved: SavedModel, data: TaskData) -> TaskData:
    """The data with features standardized as those that the model was trained on, where they were."""
    if saved.statistics is None or not isinstance(data, Dataset) or data.fingerprint == saved.fingerprint:
        return data
    form = {"features": saved.spec.features, "missing": saved.spec.missing}
    return prepare(data.source, data.split, **form, statistics=saved.statistics)


def _score(task: Task, metric: str, logits: torch.Tensor, labels: torch.Tensor) -> float | None:
    value = task.score(logits, labels, metric).item() if len(labels) else math.nan
    return None if math.isnan(value) else value


def _check_shape(saved: SavedModel, dataset: TaskData) -> None:
    if saved.task != dataset.task:
        raise DataError(
            f"The model was trained on {saved.spec.dataset!r}, and data set {dataset.name!r} is of another kind.",
            "Evaluate it on a data set of the same shape.",
        )
    check_types(saved, dataset)
    if saved.shape[:2] != dataset.shape[:2]:
        raise DataError(
            f"The model takes {saved.shape[0]} features and {saved.shape[1]} classes; data set {dataset.name!r} has "
            f"{dataset.shape[0]} and {dataset.shape[1]}.",
            "Evaluate it on a data set of the same shape.",
        )


def check_types(saved: SavedModel, dataset: TaskData) -> None:
    """Refuse types of edges that the model has no codes for; one that does not tell them apart takes any.

    Raises
    ------
    DataError : says how many there are and should be.
    """
    own, given = (shape[2] if len(shape) > 2 else 0 for shape in (saved.shape, dataset.shape))
    if own != given and tells_types_apart(saved.spec):
        raise DataError(
            f"The model is for {own} types of edges, that of the self-loops among them, and data set {dataset.name!r} "
            f"has {given}.",
            "Evaluate it on a data set with the same types of edges.",
        )


def _confusion(labels: torch.Tensor, predicted: torch.Tensor, num_classes: int) -> torch.Tensor:
    cells = torch.bincount(labels * num_classes + predicted, minlength=num_classes**2)
    return cells.view(num_classes, num_classes)


def _by_class(confusion: torch.Tensor, names: Any) -> list[dict[str, Any]]:
    rows = []
    for k, name in enumerate(names):
        hits, support, chosen = (int(n) for n in (confusion[k, k], confusion[k].sum(), confusion[:, k].sum()))
        rows.append(
            {
                "class": name,
                "support": support,
                "precision": hits / chosen if chosen else None,
                "recall": hits / support if support else None,
                "f1": 2 * hits / (support + chosen) if support + chosen else None,
            }
        )
    return rows
