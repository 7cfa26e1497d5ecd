"""Saved states: the checkpoint a run resumes from, and the model files that can be loaded anywhere.

Tensors are safetensors, everything else JSON; nothing here can run code when it is read.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as tensors_to_bytes

from lipgnn.errors import DataError, UsageError
from lipgnn.files import sha256, to_json, write_atomic
from lipgnn.network.deep import DeepGNN
from lipgnn.spec.run import HOW, RunSpec

SCHEMA = 1
_METADATA_KEY = "lipgnn"

Tensors = dict[str, torch.Tensor]


class CheckpointFile:
    """`last.safetensors` and `last.json` of a run, always a matching pair.

    The tensors are written beside the old ones first; then last.json, which carries their digest, is replaced:
    that is the moment the new checkpoint counts. Only then do the tensors take their final name, and if that
    does not happen any more, `read` makes up for it. A kill at any point leaves the old pair or the new one.
    """

    def __init__(self, folder: Path):
        self.tensors_path = folder / "last.safetensors"
        self.next_path = folder / "last.next.safetensors"
        self.state_path = folder / "last.json"

    def write(self, tensors: Tensors, state: dict[str, Any], spec: RunSpec) -> None:
        """Replace the checkpoint."""
        content = tensors_to_bytes({name: tensor.contiguous() for name, tensor in tensors.items()})
        write_atomic(self.next_path, content)
        record = {"schema": SCHEMA, "sha256": sha256(content), "spec": spec.to_dict(), "state": state}
        write_atomic(self.state_path, to_json(record))
        os.replace(self.next_path, self.tensors_path)

    def read(self, spec: RunSpec) -> tuple[Tensors, dict[str, Any]] | None:
        """The checkpoint, or None where there is none.

        Raises
        ------
        DataError : it is damaged, or belongs to another specification.
        """
        if not self.state_path.exists():
            return None
        try:
            record = json.loads(self.state_path.read_bytes())
            digest, state, saved = record["sha256"], record["state"], record["spec"]
        except (ValueError, TypeError, KeyError) as error:
            raise self._damaged(f"{self.state_path.name} cannot be read ({error!r})") from error
        if record.get("schema") != SCHEMA:
            raise self._damaged(f"it has schema version {record.get('schema')!r}, and {SCHEMA} is read")
        wanted = spec.to_dict()
        differing = sorted(k for k in {*saved, *wanted} - {*HOW} if saved.get(k) != wanted.get(k))
        if differing:
            raise self._damaged(f"it is of another run; these differ: {', '.join(differing)}")
        for path in (self.tensors_path, self.next_path):
            if path.exists():
                content = path.read_bytes()
                if sha256(content) == digest:
                    if path == self.next_path:
                        os.replace(self.next_path, self.tensors_path)
                    return tensors_from_bytes(content), state
        raise self._damaged(f"no tensors beside it have the digest in {self.state_path.name}")

    def _damaged(self, reason: str) -> DataError:
        return DataError(
            f"The checkpoint in {str(self.state_path.parent)!r} cannot be used: {reason}.",
            "Run the same command with --force to compute the run anew.",
        )


@dataclass(frozen=True)
class SavedModel:
    """A trained network with what is needed to use it.

    Attributes
    ----------
    network : in evaluation mode, on the CPU.
    spec, fingerprint : the run it comes from and the data it was trained on.
    class_names : of the outputs, where known.
    """

    network: DeepGNN
    spec: RunSpec
    fingerprint: str
    class_names: tuple[str, ...] | None


def save_model(
    path: Path, weights: Tensors, *, spec: RunSpec, fingerprint: str, shape: tuple[int, int], class_names: Any
) -> None:
    """Write a model file that needs nothing beside it.

    Parameters
    ----------
    weights : the network's state dict.
    shape : (number of features, number of classes).
    """
    record = {
        "schema": SCHEMA,
        "spec": spec.to_dict(),
        "fingerprint": fingerprint,
        "shape": list(shape),
        "class_names": list(class_names) if class_names else None,
    }
    metadata = {_METADATA_KEY: json.dumps(record, ensure_ascii=False, sort_keys=True)}
    write_atomic(path, tensors_to_bytes({k: v.contiguous() for k, v in weights.items()}, metadata=metadata))


def load_model(path: Path) -> SavedModel:
    """Read a model file back into a network.

    Raises
    ------
    DataError : the file is missing or damaged, or its tensors do not fit its specification.
    """
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            record = json.loads((file.metadata() or {})[_METADATA_KEY])
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        if record["schema"] != SCHEMA:
            raise _unusable(path, f"it has schema version {record['schema']!r}, and {SCHEMA} is read")
        # How it was computed is no affair of who uses the model; the best of the machine at hand is.
        spec = RunSpec.from_mapping({**record["spec"], "kernel": "auto", "recompute_every": "auto"})
        in_feats, num_classes = (int(size) for size in record["shape"])
        fingerprint, class_names = str(record["fingerprint"]), record["class_names"]
    except (OSError, SafetensorError, ValueError, TypeError, KeyError, UsageError) as error:
        raise _unusable(path, str(error) or repr(error)) from error
    _check_shapes(path, weights, spec, in_feats, num_classes)
    network = DeepGNN.from_spec(spec, in_feats, num_classes)
    network.load_state_dict(weights)
    return SavedModel(network.eval(), spec, fingerprint, tuple(class_names) if class_names else None)


def _check_shapes(path: Path, weights: Tensors, spec: RunSpec, in_feats: int, num_classes: int) -> None:
    """Compare with the tensors the specification calls for, without allocating them."""
    with torch.device("meta"):
        expected = DeepGNN.from_spec(spec, in_feats, num_classes).state_dict()
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
