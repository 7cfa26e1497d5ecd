"""Model files, which can be loaded anywhere: tensors and their description in one safetensors file.

Nothing here can run code when it is read.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as tensors_to_bytes

from lipgnn.catalog import find_task
from lipgnn.errors import DataError, UsageError
from lipgnn.files import write_atomic
from lipgnn.network.deep import DeepGNN
from lipgnn.spec.run import RunSpec
from lipgnn.tasks.task import TaskData

SCHEMA = 2
_METADATA_KEY = "lipgnn"

Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class SavedModel:
    """A trained network with what is needed to use it.

    Attributes
    ----------
    network : in evaluation mode, on the CPU.
    spec, fingerprint : the run it comes from and the data it was trained on.
    task : the name of what it predicts.
    shape : the numbers of features and of classes.
    class_names : of the outputs, where known.
    """

    network: DeepGNN
    spec: RunSpec
    fingerprint: str
    task: str
    shape: tuple[int, int]
    class_names: tuple[str, ...] | None


def save_model(path: Path, weights: Tensors, *, spec: RunSpec, dataset: TaskData) -> None:
    """Write a model file that needs nothing beside it.

    Parameters
    ----------
    weights : the network's state dict.
    dataset : what it was trained on.
    """
    described = {
        "schema": SCHEMA,
        "spec": spec.to_dict(),
        "fingerprint": dataset.fingerprint,
        "task": dataset.task,
        "shape": [dataset.num_features, dataset.num_classes],
        "class_names": list(dataset.class_names) if dataset.class_names else None,
    }
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
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        if described["schema"] != SCHEMA:
            raise _unusable(path, f"it has schema version {described['schema']!r}, and {SCHEMA} is read")
        # How it was computed is no affair of who uses the model; the best of the machine at hand is.
        spec = RunSpec.from_mapping({**described["spec"], "kernel": "auto", "recompute_every": "auto"})
        num_features, num_classes = (int(size) for size in described["shape"])
        task = find_task(described["task"])
        fingerprint, class_names = str(described["fingerprint"]), described["class_names"]
    except (OSError, SafetensorError, ValueError, TypeError, KeyError, UsageError) as error:
        raise _unusable(path, str(error) or repr(error)) from error
    make = functools.partial(task.network, spec, num_features, num_classes)
    _check_shapes(path, weights, make)
    network = make()
    network.load_state_dict(weights)
    return SavedModel(
        network.eval(),
        spec,
        fingerprint,
        described["task"],
        (num_features, num_classes),
        tuple(class_names) if class_names else None,
    )


def _check_shapes(path: Path, weights: Tensors, make: Callable[[], DeepGNN]) -> None:
    """Compare with the tensors the specification calls for, without allocating them."""
    with torch.device("meta"):
        expected = make().state_dict()
    problems = [f"{name} is missing" for name in expected if name not in weights]
    problems += [f"{name} is not part of the model" for name in weights if name not in expected]
    for name in expected.keys() & weights.keys():
        if (weights[name].shape, weights[name].dtype) != (expected[name].shape, expected[name].dtype):
            problems.append(f"{name} is {tuple(weights[name].shape)}, not {tuple(expected[name].shape)}")
        elif not weights[name].isfinite().all():
            problems.append(f"{name} has values that are not finite")
    if problems:
        raise _unusable(path, "; ".join(sorted(problems)[:5]))


def _unusable(path: Path, reason: str) -> DataError:
    return DataError(
        f"Cannot use the model file {str(path)!r}: {reason}.",
        "Give the best.safetensors of a finished run, or train it anew.",
    )
