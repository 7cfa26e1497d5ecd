"""The checkpoint that a run resumes from: tensors are safetensors, everything else JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as tensors_to_bytes

from lipgnn.errors import DataError
from lipgnn.files import rename, sha256, to_json, write_atomic
from lipgnn.spec.run import HOW, RunSpec, is_neutral
from lipgnn.tasks.saved import Tensors

SCHEMA = 1


class CheckpointFile:
    """`last.safetensors` and `last.json` of a run, always a matching pair.

    The tensors are written beside the old ones first; then last.json, which carries their digest, is replaced:
    that is the moment the new checkpoint counts. Only then do the tensors take their final name, and if that
    does not happen any more, `read` makes up for it. A kill at any point leaves the old pair or the new one.

    Parameters
    ----------
    check : called before anything takes its name; raises where another process has taken the run over.
    """

    def __init__(self, folder: Path, check: Callable[[], None] = lambda: None):
        self._check = check
        self.tensors_path = folder / "last.safetensors"
        self.next_path = folder / "last.next.safetensors"
        self.state_path = folder / "last.json"

    def write(self, tensors: Tensors, state: dict[str, Any], spec: RunSpec) -> None:
        """Replace the checkpoint."""
        content = tensors_to_bytes({name: tensor.contiguous() for name, tensor in tensors.items()})
        write_atomic(self.next_path, content, self._check)
        described = {"schema": SCHEMA, "sha256": sha256(content), "spec": spec.to_dict(), "state": state}
        write_atomic(self.state_path, to_json(described), self._check)
        rename(self.next_path, self.tensors_path)

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
            raise self.damaged(f"{self.state_path.name} cannot be read ({error!r})") from error
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
        for path in (self.tensors_path, self.next_path):
            if path.exists():
                content = path.read_bytes()
                if sha256(content) == digest:
                    if path == self.next_path:
                        rename(self.next_path, self.tensors_path)
                    return self._tensors(content), state
        raise self.damaged(f"no tensors beside it have the digest in {self.state_path.name}")

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
