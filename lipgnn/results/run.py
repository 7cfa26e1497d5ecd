"""The directory of one run: what is written into it, when, and by whom. No torch here.

results/runs/<id>/spec.json         what is computed, written when the run begins
                  claim             who computes it now (lipgnn.results.claims)
                  log.jsonl         one line per epoch
                  last.*            checkpoint to resume from (lipgnn.results.checkpoint_pair)
                  best.safetensors  the model at the selected epoch
                  last-good.safetensors  of a run that diverged, its last good state
                  gradients.safetensors  what was recorded on the way, if asked for (lipgnn.results.recordings)
                  result.json       written once, when the run is finished; its existence is the only meaning of that
                  labels.json       its name and tags, if it was given any (lipgnn.results.labels)
                  failure.json      why the last attempt ended, if it failed
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from lipgnn.errors import DataError
from lipgnn.files import append, create_once, ensure_writable, remove, remove_leftovers, sync, to_json, write_atomic
from lipgnn.results.claims import Claim
from lipgnn.results.columns import checked
from lipgnn.spec.run import RunSpec
from lipgnn.words import unreadable

SCHEMA = 1
CLAIM = "claim"


class Run:
    """The directory of one run, which is never a link.

    While it is claimed by `claim`, every write asks first whether it still is, and raises Held where it is not.
    """

    def __init__(self, path: Path):
        self.path = path
        self.id = path.name
        self.log_path = path / "log.jsonl"
        self.best_path = path / "best.safetensors"
        self.last_good_path = path / "last-good.safetensors"
        self.result_path = path / "result.json"
        self.failure_path = path / "failure.json"
        self.spec_path = path / "spec.json"
        self._claim: Claim | None = None

    def exists(self) -> bool:
        """Whether something was written of a run, however it went on."""
        return any(path.exists() for path in (self.spec_path, self.result_path, self.failure_path))

    def recording_path(self, record: str) -> Path:
        """The arrays of one of RECORDS (see `lipgnn.results.recordings`)."""
        return self.path / f"{record}.safetensors"

    def begin(self, spec: RunSpec, fingerprint: str) -> None:
        """Make the directory and say in it what is computed."""
        self._make_folder()
        self.check_claim()
        # Who claims the run, or notes that a worker of his died, need not hold it.
        remove_leftovers(self.path, others_write=(CLAIM, self.failure_path.name))
        self.note_spec(spec, fingerprint)

    def note_spec(self, spec: RunSpec, fingerprint: str) -> None:
        """Say in the directory what is computed; also for a run that failed before it could begin."""
        self._make_folder()
        content = {"schema": SCHEMA, "run_id": self.id, "fingerprint": fingerprint, "spec": spec.to_dict()}
        create_once(self.spec_path, to_json(content))

    def result(self) -> dict[str, Any] | None:
        """The result of a finished run, or None while it is not finished."""
        if not self.result_path.exists():
            return None
        return {name: value for name, value in read_result(self.result_path).items() if name != "schema"}

    def finish(self, result: dict[str, Any]) -> None:
        """Write the result of this run, unless another process was first with the same one."""
        self.check_claim()
        create_once(self.result_path, to_json({"schema": SCHEMA, **result}))
        self.forget_failure()

    def forget_failure(self) -> None:
        """Remove the note of an earlier attempt that failed."""
        remove(self.failure_path)

    def fail(self, reason: str, epoch: int, peak_memory_mb: float | None = None) -> None:
        """Leave a note of why this attempt ended, unless it came to its result; the checkpoint stays."""
        self._make_folder()
        if self.result_path.exists():
            return
        note = {"schema": SCHEMA, "reason": reason, "epoch": epoch, "peak_memory_mb": peak_memory_mb}
        write_atomic(self.failure_path, to_json(note), self.check_claim)

    def clear(self) -> None:
        """Delete everything in the directory but the claim of whoever clears it; links go, what they point to stays."""
        self._refuse_link()
        self.check_claim()
        for child in list(self.path.iterdir()):
            if child.name == CLAIM:
                continue
            if child.is_dir() and not child.is_symlink():
                shutil.rmtree(child)
            else:
                remove(child)

    @contextlib.contextmanager
    def claim(self) -> Iterator[None]:
        """The right to compute this run, as a context.

        Raises
        ------
        Held : another process computes it.
        """
        self._make_folder()
        with Claim(self.path / CLAIM, f"Run {self.id}") as claim:
            self._claim = claim
            try:
                yield
            finally:
                self._claim = None

    def check_claim(self) -> None:
        """Make sure that a claim on this run was not lost; see `Claim.check`."""
        if self._claim:
            self._claim.check()

    def _make_folder(self) -> None:
        self._refuse_link()
        ensure_writable(self.path)

    def _refuse_link(self) -> None:
        if self.path.is_symlink():
            raise DataError(
                f"{str(self.path)!r} is a link, and the folder of a run is never one: nothing was written or removed.",
                "Remove the link, or put the folder that it points to in its place.",
            )

    def append_log(self, line: dict[str, Any]) -> None:
        """Add the log line of one epoch in a single write."""
        self.check_claim()
        append(self.log_path, _log_line(line))

    def read_log(self) -> list[dict[str, Any]]:
        """The lines of the log, without a torn last one.

        Raises
        ------
        DataError : a line before the last is damaged, or is no log line.
        """
        if not self.log_path.exists():
            return []
        texts = self.log_path.read_bytes().splitlines(keepends=True)
        lines = [parse_log_line(text) for text in texts]
        while lines and lines[-1] is None:
            lines.pop()
        if None in lines:
            raise DataError(
                f"Line {lines.index(None) + 1} of {str(self.log_path)!r} is damaged.",
                "Run the same command with --force to compute the run anew.",
            )
        return lines

    def rewind_log(self, epoch: int) -> None:
        """Drop the lines after `epoch`, and a torn last one: a resumed run writes them again."""
        lines = (line for line in self.read_log() if line["epoch"] <= epoch)
        write_atomic(self.log_path, b"".join(map(_log_line, lines)), self.check_claim)

    def sync_log(self) -> None:
        """Force the log to disk; a checkpoint must never be newer than the log that leads to it."""
        self.check_claim()
        sync(self.log_path)


def epochs_to_90(log: Iterable[dict[str, Any]]) -> int | None:
    """The first epoch whose training score is at least 0.9; None if there is none."""
    return next((line["epoch"] for line in log if line.get("train_score", 0) >= 0.9), None)


def _log_line(line: dict[str, Any]) -> bytes:
    return (json.dumps(line, allow_nan=False) + "\n").encode()


def parse_log_line(text: bytes) -> dict[str, Any] | None:
    """A line of a log; None where it is damaged: cut, even where the rest happens to parse, or of something else."""
    try:
        line = json.loads(text, parse_constant=_not_json) if text.endswith(b"\n") else None
    except (ValueError, RecursionError):
        return None
    # 1e999 is a number of JSON, and infinite here; a whole number may have any length.
    numbers = isinstance(line, dict) and all(
        type(value) in (int, float) and abs(value) <= sys.float_info.max for value in line.values()
    )
    return line if numbers and type(line.get("epoch")) is int else None


def read_result(path: Path) -> dict[str, Any]:
    """The content of a result file: an object of texts and numbers, those of its columns as they should be."""
    hint = "Remove that run's folder and compute it anew."
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"Cannot read {str(path)!r}: {unreadable(error)}.", hint) from error
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema is None:
        raise DataError(f"{str(path)!r} is no result of a run: it names no schema.", hint)
    if schema != SCHEMA:
        raise DataError(
            f"{str(path)!r} has schema version {str(schema)[:80]!r}; this version of lipgnn reads {SCHEMA}.",
            "Read it with the version of lipgnn that wrote it.",
        )
    for name, value in content.items():
        if isinstance(value, (dict, list)):
            raise DataError(f"{str(path)!r} has a list or an object for {name[:80]!r}.", hint)
    return {**content, **checked(content, repr(str(path)), hint)}


def _not_json(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")
