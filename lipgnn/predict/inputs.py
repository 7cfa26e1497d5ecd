"""What a model can be asked about: its own data, or a graph of the same features that needs no labels and no split."""

from __future__ import annotations

import os

import numpy as np

from lipgnn.datasets import Dataset, Source, Split, prepare, read
from lipgnn.errors import DataError, UsageError
from lipgnn.evaluate import check_types, data_for
from lipgnn.tasks import TaskData, load
from lipgnn.tasks.saved import SavedModel

# Tasks whose data is one graph.
GRAPHS = ("nodes", "labels")


def data_to_predict(saved: SavedModel, dataset: str | os.PathLike[str] | None = None) -> TaskData:
    """The data that a name or path leads to, by default the model's own.

    Of the model's own data the features are those it was trained with, erased ones included (`missing`). Of another
    graph nothing is erased, and labels and splits are not looked at.

    Raises
    ------
    DataError : the data cannot be read, does not fit the model, or has changed since the training.
    UsageError : an unknown name, or features that are made from the graph, which mean nothing on another.
    """
    spec = saved.spec
    if dataset is None or str(dataset) == spec.dataset:
        return data_for(saved, None if dataset is None else str(dataset))
    if saved.task in GRAPHS:
        return prepared_to_predict(saved, read(dataset))
    data = load(str(dataset), split=spec.split, missing=spec.missing, features=spec.features)
    if data.task != saved.task:
        raise _of_another_kind(saved, data.name)
    check_inputs(saved, data)
    return data


def prepared_to_predict(saved: SavedModel, source: Source) -> Dataset:
    """A graph with its features in the form that the model takes; errors as above."""
    if saved.task not in GRAPHS:
        raise _of_another_kind(saved, source.name)
    if saved.spec.features == "svd":
        raise UsageError(
            f"The model was trained on features made from the graph of {saved.spec.dataset!r} (--features svd), and "
            "those of another graph mean something else.",
            "Train a model on features that nodes bring along.",
        )
    nobody = np.zeros(source.num_nodes, dtype=bool)
    scale = {"features": saved.spec.features, "statistics": saved.statistics}
    data = prepare(source, Split(nobody, nobody, nobody), **scale)
    check_inputs(saved, data)
    return data


def check_inputs(saved: SavedModel, data: TaskData) -> None:
    """Refuse data whose features or types of edges the model has no weights for.

    Raises
    ------
    DataError : says how many there are and should be.
    """
    check_types(saved, data)
    if saved.shape[0] != data.shape[0]:
        raise DataError(
            f"The model takes {saved.shape[0]} features, and data set {data.name!r} has {data.shape[0]}.",
            "Give the same features, in the same order, as it was trained with.",
        )


def _of_another_kind(saved: SavedModel, name: str) -> DataError:
    return DataError(
        f"The model was trained on {saved.spec.dataset!r}, and data set {name!r} is of another kind.",
        "Predict on data of the same kind.",
    )
