"""A saved model on data: accuracies, a table by class, confusion, and how spread its attention is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from lipgnn.errors import DataError
from lipgnn.measures.features import attention_entropy
from lipgnn.nn.attention import spread_of
from lipgnn.results.store import Store
from lipgnn.tasks import TaskData, find_task
from lipgnn.tasks.batches import logits_of
from lipgnn.tasks.saved import SavedModel


@dataclass(frozen=True)
class Evaluation:
    """What a model does on a data set.

    Attributes
    ----------
    metric : the name of the score, one of `lipgnn.catalog.METRICS`.
    accuracy : the metric on every part of the split: train, val, test.
    classes : for every class of the test part: name, support, precision, recall, f1 (None where undefined). None if
        labels are no classes.
    confusion : confusion[true][predicted], test part; None as well.
    attention_entropy : for every layer, mean over heads and nodes of H(α_i) / log n_i, where 1 is uniform;
        nodes with a single neighbour say nothing and are left out. Of many graphs, a batch is looked at. None for
        layers without attention.
    """

    metric: str
    accuracy: dict[str, float | None]
    classes: list[dict[str, Any]] | None
    confusion: list[list[int]] | None
    attention_entropy: list[float | None] | None


@torch.no_grad()
def evaluate(saved: SavedModel, dataset: TaskData, device: torch.device) -> Evaluation:
    """Run the model without dropout.

    Raises
    ------
    DataError : the data set has other numbers of features or classes than the model.
    """
    _check_shape(saved, dataset)
    network = saved.network.to(device).eval()
    task = find_task(dataset.task)
    batches = task.batches(saved.spec, dataset, device)
    logits, labels = logits_of(network, batches), batches.labels
    found = {
        part: task.score(logits[items], labels[items]).item() if len(items) else None
        for part, items in batches.parts.items()
    }
    confusion = classes = entropy = None
    if task.has_classes:
        test = batches.parts["test"]
        confusion = _confusion(labels[test], logits[test].argmax(dim=1), dataset.num_classes)
        names = saved.class_names or dataset.class_names or [str(k) for k in range(dataset.num_classes)]
        classes = _by_class(confusion, names)
        confusion = confusion.tolist()
    if network.has_attention:
        whole = batches.whole()
        graph = whole.graph
        attention = network.attention(graph, whole.features)
        found_entropy = (attention_entropy(graph, spread_of(graph, weights)).item() for weights in attention)
        entropy = [None if math.isnan(value) else value for value in found_entropy]
    return Evaluation(task.metric, found, classes, confusion, entropy)


def model_path(reference: str, store: Store) -> Path:
    """The model file of a run given by id (or the start of one), by its folder, or as a file.

    Raises
    ------
    DataError : the run has no model yet.
    UsageError : no such run.
    """
    path = Path(reference)
    if path.is_file():
        return path
    folder = path if path.is_dir() else store.find(reference).path
    if not (folder / "best.safetensors").exists():
        raise DataError(
            f"{str(folder)!r} holds no best.safetensors.", "Finish the run first: give its train command again."
        )
    return folder / "best.safetensors"


def _check_shape(saved: SavedModel, dataset: TaskData) -> None:
    if saved.task != dataset.task:
        raise DataError(
            f"The model was trained on {saved.spec.dataset!r}, and data set {dataset.name!r} is of another kind.",
            "Evaluate it on a data set of the same shape.",
        )
    data = (dataset.num_features, dataset.num_classes)
    if saved.shape != data:
        raise DataError(
            f"The model takes {saved.shape[0]} features and {saved.shape[1]} classes; data set {dataset.name!r} has "
            f"{data[0]} and {data[1]}.",
            "Evaluate it on a data set of the same shape.",
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
