"""A run that is half computed as one file, to go on with it in another place. No torch here.

The file is a ZIP of what a run goes on from, uncompressed: pack.json with the id of the run and the digest of every
other member, then files of the folder of a run by the names that they have there (lipgnn.results.run).
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

from lipgnn.errors import DataError, UsageError
from lipgnn.files import ensure_writable, sha256, to_json, write_atomic
from lipgnn.results.checkpoint_pair import STATE, TENSORS, CheckpointPair
from lipgnn.results.recordings import RECORDS
from lipgnn.results.run import Run
from lipgnn.results.store import Store
from lipgnn.spec.run import RunSpec

SCHEMA = 1
SUFFIX = ".run.zip"
_LIST = "pack.json"
_SPEC = "spec.json"
_NEEDED = (_SPEC, "log.jsonl", TENSORS, STATE)
_ALLOWED = (*_NEEDED, "best.safetensors", *(f"{record}.safetensors" for record in RECORDS))


def pack(run: Run, path: Path) -> int:
    """Write a run with its checkpoint into a file; the run stays where it is.

    Returns
    -------
    the epoch that it goes on from.

    Raises
    ------
    UsageError : the run is finished, or has no checkpoint yet.
    Held : somebody computes it.
    """
    with run.claim():
        if run.result_path.exists():
            raise UsageError(
                f"Run {run.id} is finished, and a pack is for going on.",
                "Its row in results.csv is all that a report needs.",
            )
        checkpoint = CheckpointPair(run.path, run.check_claim)
        if not checkpoint.state_path.exists():
            raise UsageError(f"Run {run.id} has no checkpoint yet.", "Let it compute for a while.")
        state = _read_json(checkpoint.state_path.read_bytes(), STATE)
        if checkpoint.tensors_with(state.get("sha256", "")) is None:
            raise DataError(
                f"The checkpoint in {str(run.path)!r} is damaged: no tensors have the digest in {STATE}.",
                "Compute the run anew with --force.",
            )
        content = {name: (run.path / name).read_bytes() for name in _ALLOWED if (run.path / name).exists()}
    digests = {name: sha256(data) for name, data in content.items()}
    listed = to_json({"schema": SCHEMA, "run_id": run.id, "files": digests})
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, data in {_LIST: listed, **content}.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    ensure_writable(path.parent)
    write_atomic(path, packed.getbuffer())
    return _epoch(state)


def unpack(path: Path, store: Store, *, force: bool = False) -> tuple[str, RunSpec, int]:
    """Put a packed run into a store, all of it or nothing.

    Parameters
    ----------
    force : also where the store has the run at this epoch or a later one.

    Returns
    -------
    the id of the run, what it computes, and the epoch that it goes on from.

    Raises
    ------
    DataError : the file is no pack, or is damaged.
    UsageError : the store has gone further.
    Held : somebody computes it there.
    """
    spec, run_id, content = _read(path)
    run, epoch = store.run(run_id), _epoch(_read_json(content[STATE], STATE))
    with run.claim():
        if run.result_path.exists():
            raise UsageError(f"Run {run_id} is finished in {str(store.root)!r}.", "Nothing is left to go on with.")
        own = CheckpointPair(run.path, run.check_claim)
        reached = _epoch(_read_json(own.state_path.read_bytes(), STATE)) if own.state_path.exists() else -1
        if reached >= epoch and not force:
            raise UsageError(
                f"Run {run_id} is at epoch {reached} in {str(store.root)!r}, and {str(path)!r} at {epoch}.",
                "Add --force to go back to that.",
            )
        # The checkpoint last: until then the one that is there counts.
        for name in content.keys() - {STATE, TENSORS}:
            write_atomic(run.path / name, content[name], run.check_claim)
        own.replace(content[TENSORS], content[STATE])
        run.forget_failure()
    return run_id, spec, epoch


def _read(path: Path) -> tuple[RunSpec, str, dict[str, bytes]]:
    """A packed run, its id and its files, checked against their digests and against each other."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            # Nothing here is compressed, so that no member can be larger than the file.
            if any(one.compress_type != zipfile.ZIP_STORED or one.file_size > path.stat().st_size for one in members):
                raise _damaged(path, "a member is compressed, which none is")
            content = {one.filename: archive.read(one) for one in members}
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise _damaged(path, f"it cannot be read ({error})") from error
    listed = _read_json(content.pop(_LIST, b""), _LIST, path)
    digests = listed.get("files")
    if listed.get("schema") != SCHEMA or not isinstance(digests, dict):
        raise _damaged(path, f"its {_LIST} is not of version {SCHEMA}")
    if len(members) != len(content) + 1 or content.keys() != digests.keys():
        raise _damaged(path, "its members are not those that it lists")
    if not set(_NEEDED) <= content.keys() <= set(_ALLOWED):
        raise _damaged(path, "its members are not those of a run")
    for name, data in content.items():
        if sha256(data) != digests[name]:
            raise _damaged(path, f"{name} is not what it was")
    described, state = _read_json(content[_SPEC], _SPEC, path), _read_json(content[STATE], STATE, path)
    try:
        spec = RunSpec.from_mapping(described["spec"])
        run_id = spec.run_id(described["fingerprint"])
    except (KeyError, TypeError, ValueError, UsageError) as error:
        raise _damaged(path, f"{_SPEC} says no run ({error})") from error
    if not run_id == listed.get("run_id") == described.get("run_id") or state.get("sha256") != digests[TENSORS]:
        raise _damaged(path, "its parts are of different runs")
    return spec, run_id, content


def _read_json(data: bytes, name: str, path: Path | None = None) -> dict[str, Any]:
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _damaged(path or Path(name), f"{name} cannot be read") from error
    if not isinstance(content, dict):
        raise _damaged(path or Path(name), f"{name} is no object")
    return content


def _epoch(state: dict[str, Any]) -> int:
    epoch = state.get("state", {}).get("epoch") if isinstance(state.get("state"), dict) else None
    if type(epoch) is not int:
        raise DataError(f"{STATE} names no epoch.", "Pack the run again.")
    return epoch


def _damaged(path: Path, reason: str) -> DataError:
    return DataError(f"{str(path)!r} is no packed run, or is damaged: {reason}.", "Pack the run again.")
