"""Model files, which can be loaded anywhere: tensors and their description in one safetensors file.

Nothing here can run code when it is read.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as tensors_to_bytes

from lipgnn.catalog import find_task
from lipgnn.datasets.standard import Statistics
from lipgnn.errors import DataError, UsageError
from lipgnn.files import sha256, write_atomic
from lipgnn.network.deep import DeepGNN
from lipgnn.spec.run import HOW, RunSpec
from lipgnn.spec.start import model_start
from lipgnn.tasks.task import TaskData
from lipgnn.words import unreadable

SCHEMA = 2
_METADATA_KEY = "lipgnn"
# Layers have tensors, one or more each; a description without them is not built to find that out.
_LAYERS_ON_TRUST = 1000

Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class SavedModel:
    """A trained network with what is needed to use it.

    Attributes
    ----------
    network : in evaluation mode, on the CPU.
    spec, fingerprint : the run it comes from and the data it was trained on.
    task : the name of what it predicts.
    shape : that of the data it is for: the numbers of features and of classes, where there are classes; and of types of
        edges, where these have such.
    class_names : of the outputs, where known.
    statistics : by which its features were standardized; None in other forms.
    """

    network: DeepGNN
    spec: RunSpec
    fingerprint: str
    task: str
    shape: tuple[int, ...]
    class_names: tuple[str, ...] | None
    statistics: Statistics | None = None


def save_model(path: Path, weights: Tensors, *, spec: RunSpec, dataset: TaskData | SavedModel) -> None:
    """Write a model file that needs nothing beside it.

    Parameters
    ----------
    weights : the network's state dict.
    dataset : what it was trained on, or a model that was.
    """
    described = {
        "schema": SCHEMA,
        "spec": spec.to_dict(),
        "fingerprint": dataset.fingerprint,
        "task": dataset.task,
        "shape": list(dataset.shape),
        "class_names": list(dataset.class_names) if dataset.class_names else None,
    }
    if statistics := getattr(dataset, "statistics", None):
        described["statistics"] = statistics.to_dict()
    metadata = {_METADATA_KEY: json.dumps(described, ensure_ascii=False, sort_keys=True)}
    write_atomic(path, tensors_to_bytes({k: v.contiguous() for k, v in weights.items()}, metadata=metadata))


def load_model(path: Path) -> SavedModel:
    """Read a model file back into a network.

    Raises
    ------
    DataError : the file is missing or damaged, or its tensors do not fit its specification.
    """
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            described = json.loads((file.metadata() or {})[_METADATA_KEY])
            if described["schema"] != SCHEMA:
                raise _unusable(path, f"it has schema version {described['schema']!r}, and {SCHEMA} is read")
            # How it was computed is no affair of who uses the model; the best of the machine at hand is.
            spec = RunSpec.from_mapping({**described["spec"], "kernel": "auto", "recompute_every": "auto"})
            names = list(file.keys())
            if spec.layers > max(_LAYERS_ON_TRUST, len(names)):
                raise _unusable(path, f"it describes {spec.layers} layers and has {len(names)} tensors")
            weights = {name: file.get_tensor(name) for name in names}
        shape = _shape(described["shape"])
        task, fingerprint = find_task(described["task"]), str(described["fingerprint"])
        class_names = _class_names(described["class_names"], shape[1])
        statistics = _statistics(described.get("statistics"), spec, shape[0])
    except SafetensorError as error:
        raise _unusable(path, "it is no safetensors file, or only a part of one") from error
    except (OSError, ValueError, TypeError, KeyError, RecursionError, UsageError) as error:
        raise _unusable(path, unreadable(error)) from error
    make = functools.partial(task.network, spec, *shape)
    if problems := misfits(weights, make):
        raise _unusable(path, "; ".join(problems[:5]))
    network = make()
    network.load_state_dict(weights)
    return SavedModel(network.eval(), spec, fingerprint, described["task"], shape, class_names, statistics)


def options_from(path: Path) -> tuple[dict[str, Any], str]:
    """The options of a run that goes on from the weights of a model file, and where they come from.

    They are the `base` of `lipgnn.spec.sources.resolve`; errors are those of `load_model`.
    """
    values = load_model(path).spec.to_dict()
    kept = {name: value for name, value in values.items() if value is not None and name not in (*HOW, "finetune")}
    return {**kept, "start": model_start(sha256(path.read_bytes()))}, f"model {path}"


def _shape(sizes: Any) -> tuple[int, ...]:
    """The numbers of features, of classes and, maybe, of types of edges.

    Of paths they are those of nodes' and of edges' features, which may be none.
    """
    whole = isinstance(sizes, list) and all(type(size) is int and size >= 0 for size in sizes)
    if not whole or len(sizes) not in (2, 3):
        raise ValueError(f"its shape is {sizes!r}, not a number of features and one of classes")
    return tuple(sizes)


def _class_names(names: Any, classes: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    if not isinstance(names, list) or len(names) != classes or not all(isinstance(name, str) for name in names):
        raise ValueError(f"its class names are not {classes} texts")
    return tuple(names)


def _statistics(values: Any, spec: RunSpec, width: int) -> Statistics | None:
    if spec.features != "standard":
        return None
    if values is None:
        raise ValueError("its features were standardized, and it does not say by which means and deviations")
    return Statistics.from_dict(values, width)


def misfits(weights: Tensors, make: Callable[[], DeepGNN]) -> list[str]:
    """Why tensors are not those of a network, which is not allocated for that; nothing where they are."""
    try:
        with torch.device("meta"):
            expected = make().state_dict()
    except (RuntimeError, OverflowError, TypeError, ValueError, UsageError) as error:
        return [f"no network is as it says ({str(error).splitlines()[0]})"]
    problems = [f"{name} is missing" for name in expected if name not in weights]
    problems += [f"{name} is not part of the model" for name in weights if name not in expected]
    for name in expected.keys() & weights.keys():
        if (weights[name].shape, weights[name].dtype) != (expected[name].shape, expected[name].dtype):
            problems.append(f"{name} is {tuple(weights[name].shape)}, not {tuple(expected[name].shape)}")
        elif not weights[name].isfinite().all():
            problems.append(f"{name} has values that are not finite")
    return sorted(problems)


def _unusable(path: Path, reason: str) -> DataError:
    return DataError(
        f"Cannot use the model file {str(path)!r}: {reason.rstrip('.')}.",
        "Give the best.safetensors of a finished run, or train it anew.",
    )
