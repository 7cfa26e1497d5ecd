"""A run that has only more epochs than another goes on where that one ended, to what it would come to in one go.

Epochs are part of what a run is, so the longer run is another one, with its own id and folder: it begins with a copy of
the shorter one's checkpoint and log. Where anything of the shorter run depended on its length, it starts anew.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import lipgnn
from lipgnn.errors import DataError, UsageError
from lipgnn.files import write_atomic
from lipgnn.results.claims import Held
from lipgnn.results.run import Run
from lipgnn.results.store import Store
from lipgnn.spec.run import HOW, RunSpec
from lipgnn.spec.start import COMPRESSED
from lipgnn.training.checkpoint import CheckpointFile
from lipgnn.training.optimizer import ends_with_the_run


def lengthen(spec: RunSpec, fingerprint: str, run: Run, store: Store, record: Collection[str] = ()) -> str | None:
    """Give a run that has not begun the state of the longest run that it prolongs, if the store has one to go on from.

    Parameters
    ----------
    run : the folder of `spec`, claimed.
    record : what is to be recorded of it.

    Returns
    -------
    a sentence that names the shorter run and says whether this one goes on from it, and else why not; None where the
    store has no shorter run.
    """
    refused = None
    for epochs, shorter in _shorter_runs(spec, fingerprint, run, store):
        same = f"Run {shorter.id} is the same run with {epochs} epochs"
        try:
            with shorter.claim():
                obstacle = _obstacle(spec, shorter, epochs, record) or _copied(spec, epochs, shorter, run)
        except Held:
            obstacle = "another process computes that one now"
        except DataError:
            obstacle = "its checkpoint or its log cannot be read"
        if obstacle is None:
            return f"{same}, and this one goes on where it ended, to the result that it would have in one go."
        refused = refused or f"{same}, and this one starts anew: {obstacle}."
    return refused


def _length_name(spec: RunSpec) -> str:
    """The option that says how long a run is."""
    return "finetune" if spec.start == COMPRESSED else "epochs"


def _shorter_runs(spec: RunSpec, fingerprint: str, run: Run, store: Store) -> list[tuple[int, Run]]:
    """The runs with a checkpoint that differ in nothing but fewer epochs, with these, the longest first."""
    name = _length_name(spec)
    wanted = {key: value for key, value in spec.to_dict().items() if key not in (*HOW, name)}
    found = []
    for path in store.runs_path.glob("*/spec.json"):
        other = Run(path.parent)
        if other.id == run.id or not CheckpointFile(other.path).state_path.exists():
            continue
        values = _values(other, fingerprint)
        alike = all(values.get(key, value) == value for key, value in wanted.items())
        if alike and values.get(name, spec.own_epochs) < spec.own_epochs and _same(values, wanted):
            found.append((values[name], other))
    return sorted(found, key=lambda one: one[0], reverse=True)


def _values(run: Run, fingerprint: str) -> dict[str, Any]:
    """The options of a run on this data; none where it is of other data, or its file is damaged."""
    try:
        content = run.spec_path.read_bytes()
        described = json.loads(content) if fingerprint.encode() in content else {}
        return described["spec"] if described["fingerprint"] == fingerprint else {}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return {}


def _same(values: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether a run that was written down, maybe before there were some options, has these values."""
    try:
        own = RunSpec.from_mapping(values).to_dict() if values else {}
    except (UsageError, TypeError):
        return False
    return {key: own.get(key) for key in wanted} == wanted


def _obstacle(spec: RunSpec, shorter: Run, epochs: int, record: Collection[str]) -> str | None:
    """Why a run cannot go on from a shorter one, if it cannot."""
    result = shorter.result()
    if ends_with_the_run(spec):
        return f"its schedule {spec.schedule} ends with the run, so that a longer one takes other steps from the start"
    if record:
        return f"--record {', '.join(record)} is of all epochs"
    if result and result["status"] != "done":
        return "that one diverged"
    if result and result["version"] != lipgnn.__version__:
        return f"that one was computed by version {result['version']} of lipgnn"
    if result and result["epochs_run"] == epochs and epochs % spec.eval_every:
        return f"that one evaluated its last epoch, which is no multiple of --eval-every {spec.eval_every}"
    return None


def _copied(spec: RunSpec, epochs: int, shorter: Run, run: Run) -> str | None:
    """Copy log and checkpoint, the checkpoint last: with it the copy counts; returns why there is nothing to copy."""
    saved = CheckpointFile(shorter.path).read(spec.with_values(**{_length_name(spec): epochs}))
    if saved is None:
        return "its checkpoint is gone"
    write_atomic(run.log_path, shorter.log_path.read_bytes(), run.check_claim)
    CheckpointFile(run.path, run.check_claim).write(*saved, spec)
    return None
