"""The two files of a checkpoint, which are always a matching pair. No torch here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lipgnn.files import rename, sha256, write_atomic

TENSORS, STATE = "last.safetensors", "last.json"
_NEXT = "last.next.safetensors"


class CheckpointPair:
    """`last.safetensors` and `last.json` of a run, always a matching pair.

    The tensors are written beside the old ones first; then last.json, which carries their digest, is replaced:
    that is the moment the new checkpoint counts. Only then do the tensors take their final name, and if that
    does not happen any more, `tensors_with` makes up for it. A kill at any point leaves the old pair or the new one.

    Parameters
    ----------
    check : called before anything takes its name; raises where another process has taken the run over.
    """

    def __init__(self, folder: Path, check: Callable[[], None] = lambda: None):
        self._check = check
        self.tensors_path = folder / TENSORS
        self.next_path = folder / _NEXT
        self.state_path = folder / STATE

    def replace(self, tensors: bytes, state: bytes) -> None:
        """Put another pair in the place of this one; `state` names the digest of the tensors."""
        write_atomic(self.next_path, tensors, self._check)
        write_atomic(self.state_path, state, self._check)
        rename(self.next_path, self.tensors_path)

    def tensors_with(self, digest: str) -> bytes | None:
        """The tensors of this digest, under their final name from now on; None where there are none."""
        for path in (self.tensors_path, self.next_path):
            if path.exists() and sha256(content := path.read_bytes()) == digest:
                if path == self.next_path:
                    rename(self.next_path, self.tensors_path)
                return content
        return None
