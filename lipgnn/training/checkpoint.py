"""The checkpoint that a run resumes from: tensors are safetensors, everything else JSON."""

from __future__ import annotations

import json
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as tensors_to_bytes

from lipgnn.errors import DataError
from lipgnn.files import sha256, to_json
from lipgnn.results.checkpoint_pair import CheckpointPair
from lipgnn.spec.run import HOW, RunSpec, is_neutral
from lipgnn.tasks.saved import Tensors
from lipgnn.words import unreadable

SCHEMA = 1


class CheckpointFile(CheckpointPair):
    """The checkpoint of a run: tensors and state, and the specification that they are of."""

    def write(self, tensors: Tensors, state: dict[str, Any], spec: RunSpec) -> None:
        """Replace the checkpoint."""
        content = tensors_to_bytes({name: tensor.contiguous() for name, tensor in tensors.items()})
        described = {"schema": SCHEMA, "sha256": sha256(content), "spec": spec.to_dict(), "state": state}
        self.replace(content, to_json(described))

    def read(self, spec: RunSpec) -> tuple[Tensors, dict[str, Any]] | None:
        """The checkpoint, or None where there is none.

        Raises
        ------
        DataError : it is damaged, or belongs to another specification.
        """
        if not self.state_path.exists():
            return None
        try:
            described = json.loads(self.state_path.read_bytes())
            digest, state, saved = described["sha256"], described["state"], described["spec"]
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise self.damaged(f"{self.state_path.name} cannot be read ({unreadable(error)})") from error
        if described.get("schema") != SCHEMA:
            raise self.damaged(f"it has schema version {described.get('schema')!r}, and {SCHEMA} is read")
        if not (isinstance(state, dict) and isinstance(saved, dict)):
            raise self.damaged(f"{self.state_path.name} holds no state and specification")
        wanted = spec.to_dict()
        # An option that is younger than the checkpoint had the value then that changes nothing.
        young = {name for name, value in wanted.items() if name not in saved and is_neutral(name, value)}
        differing = sorted(k for k in {*saved, *wanted} - {*HOW} - young if saved.get(k) != wanted.get(k))
        if differing:
            raise self.damaged(f"it is of another run; these differ: {', '.join(differing)}")
        if (content := self.tensors_with(digest)) is None:
            raise self.damaged(f"no tensors beside it have the digest in {self.state_path.name}")
        return self._tensors(content), state

    def _tensors(self, content: bytes) -> Tensors:
        try:
            return tensors_from_bytes(content)
        except SafetensorError as error:
            raise self.damaged(f"its tensors cannot be read ({error})") from error

    def damaged(self, reason: str) -> DataError:
        """The error for a checkpoint that cannot be used."""
        return DataError(
            f"The checkpoint in {str(self.state_path.parent)!r} cannot be used: {reason}.",
            "Run the same command with --force to compute the run anew.",
        )


def check_state(state: dict[str, Any], like: dict[str, Any]) -> None:
    """Refuse the state of a checkpoint that is not of the shape of another.

    Parameters
    ----------
    like : the state of a run that has not begun; what is None in it may be numbers by name later on.

    Raises
    ------
    ValueError : says what of it cannot be.
    """
    for name, example in like.items():
        if name not in state:
            raise ValueError(f"it has no {name!r}")
        if not _fits(state[name], example):
            raise ValueError(f"{name} is {str(state[name])[:80]!r}")


def _fits(value: Any, like: Any) -> bool:
    if like is None:
        numbers = value.values() if isinstance(value, dict) else [] if value is None else [value]
        return all(type(number) in (int, float) for number in numbers)
    if isinstance(like, dict):
        return isinstance(value, dict) and all(_fits(value[name], like[name]) for name in value.keys() & like.keys())
    return type(value) is type(like) or (type(value) is int and type(like) is float)
