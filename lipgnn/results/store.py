"""The store: one directory a run, a result written once, results.csv as a view of them. No torch here.

results/runs/<id>/spec.json         what is computed, written when the run begins
                  log.jsonl         one line an epoch
                  last.*            checkpoint to resume from (lipgnn.training.checkpoint)
                  best.safetensors  the model at the selected epoch
                  gradients.safetensors  what was recorded on the way, if asked for (lipgnn.results.recordings)
                  result.json       written once, when the run is finished; its existence is the only meaning of that
                  failure.json      why the last attempt ended, if it failed
results/results.csv                 rebuilt from the result files; deleting it loses nothing
"""

from __future__ import annotations

import csv
import io
import json
import operator
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lipgnn.errors import DataError, UsageError
from lipgnn.files import create_once, ensure_writable, remove_leftovers, to_csv_text, to_json, write_atomic
from lipgnn.results.claims import Claim
from lipgnn.spec.run import FIELDS, RunSpec

SCHEMA = 1
CLAIM = "claim"
RESULT_FIELDS = (
    "run_id",
    "status",
    "metric",
    "epochs_run",
    "best_epoch",
    "epochs_to_90",
    "train_score",
    "val_score",
    "test_score",
    "last_test_score",
    "train_loss",
    "val_loss",
    "max_grad_norm",
    "parameters",
    "seconds",
    "seconds_per_epoch",
    "peak_memory_mb",
    "fingerprint",
    "version",
    "command",
)
COLUMNS = (*FIELDS, *RESULT_FIELDS)


class Run:
    """The directory of one run."""

    def __init__(self, path: Path):
        self.path = path
        self.id = path.name
        self.log_path = path / "log.jsonl"
        self.best_path = path / "best.safetensors"
        self.result_path = path / "result.json"
        self.failure_path = path / "failure.json"
        self.spec_path = path / "spec.json"

    def recording_path(self, record: str) -> Path:
        """The arrays of one of RECORDS (see `lipgnn.results.recordings`)."""
        return self.path / f"{record}.safetensors"

    def begin(self, spec: RunSpec, fingerprint: str) -> None:
        """Make the directory and say in it what is computed."""
        ensure_writable(self.path)
        remove_leftovers(self.path)
        content = {"schema": SCHEMA, "run_id": self.id, "fingerprint": fingerprint, "spec": spec.to_dict()}
        create_once(self.spec_path, to_json(content))

    def result(self) -> dict[str, Any] | None:
        """The result of a finished run, or None while it is not finished."""
        if not self.result_path.exists():
            return None
        return {name: value for name, value in _read_json(self.result_path).items() if name != "schema"}

    def finish(self, result: dict[str, Any]) -> None:
        """Write the result of this run, unless another process was first with the same one."""
        create_once(self.result_path, to_json({"schema": SCHEMA, **result}))
        self.failure_path.unlink(missing_ok=True)

    def fail(self, reason: str, epoch: int, peak_memory_mb: float | None = None) -> None:
        """Leave a note of why this attempt ended; the checkpoint stays."""
        ensure_writable(self.path)
        note = {"schema": SCHEMA, "reason": reason, "epoch": epoch, "peak_memory_mb": peak_memory_mb}
        write_atomic(self.failure_path, to_json(note))

    def clear(self) -> None:
        """Delete everything in the directory but the claim of whoever clears it."""
        for child in self.path.glob("*"):
            if child.name != CLAIM:
                shutil.rmtree(child) if child.is_dir() else child.unlink()

    def claim(self) -> Claim:
        """The right to compute this run, as a context."""
        ensure_writable(self.path)
        return Claim(self.path / CLAIM, f"Run {self.id}")

    def append_log(self, line: dict[str, Any]) -> None:
        """Add the log line of one epoch in a single write."""
        content = _log_line(line)
        with open(self.log_path, "ab") as file:
            file.write(content)

    def read_log(self) -> list[dict[str, Any]]:
        """The lines of the log, without a torn last one."""
        if not self.log_path.exists():
            return []
        lines = []
        for text in self.log_path.read_bytes().splitlines(keepends=True):
            try:
                # A line without its newline was cut, even where the rest happens to parse.
                lines.append(json.loads(text) if text.endswith(b"\n") else None)
            except ValueError:
                lines.append(None)
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
        write_atomic(self.log_path, b"".join(map(_log_line, lines)))

    def sync_log(self) -> None:
        """Force the log to disk; a checkpoint must never be newer than the log that leads to it."""
        with open(self.log_path, "ab") as file:
            os.fsync(file.fileno())


class Store:
    """A folder of runs and the table of their results."""

    def __init__(self, root: Path):
        self.root = root
        self.runs_path = root / "runs"
        self.csv_path = root / "results.csv"

    def run(self, run_id: str) -> Run:
        """The run with exactly this id, whether it exists or not."""
        return Run(self.runs_path / run_id)

    def find(self, reference: str) -> Run:
        """The run with this folder, or else the one whose id starts so.

        Raises
        ------
        UsageError : none or several do.
        """
        if os.path.isdir(reference):
            return Run(Path(reference))
        known = sorted(path.name for path in self.runs_path.glob("*") if (path / "spec.json").exists())
        matches = [name for name in known if re.fullmatch(r"[0-9a-f]+", reference) and name.startswith(reference)]
        if len(matches) == 1:
            return self.run(matches[0])
        if matches:
            raise UsageError(
                f"Run {reference!r} is ambiguous: {', '.join(matches[:10])}.", "Give more digits of the id."
            )
        raise UsageError(
            f"No run {reference!r} in {str(self.runs_path)!r}.",
            f"Runs there: {', '.join(known[:10]) or 'none'}{' …' if len(known) > 10 else ''}.",
        )

    def find_model(self, reference: str) -> Path:
        """The model file of a run that `find` finds; `reference` may also be such a file itself.

        Raises
        ------
        DataError : the run has no model yet.
        UsageError : there is no such run.
        """
        if os.path.isfile(reference):
            return Path(reference)
        run = self.find(reference)
        if not run.best_path.exists():
            raise DataError(
                f"{str(run.path)!r} holds no {run.best_path.name}.",
                "Finish the run first: give its train command again.",
            )
        return run.best_path

    def failed(self) -> list[str]:
        """Ids of the runs whose last attempt failed; some may have a result by now."""
        return [path.parent.name for path in self.runs_path.glob("*/failure.json")]

    def states(self) -> dict[str, str]:
        """For every run that ended: "failed", or the status of its result."""
        return dict.fromkeys(self.failed(), "failed") | {row["run_id"]: row["status"] for row in self.finished()}

    def finished(self) -> Iterator[dict[str, Any]]:
        """The results of finished runs, one by one: dictionaries with the keys of COLUMNS, ordered by run id."""
        for path in sorted(self.runs_path.glob("*/result.json"), key=str):
            result = _read_json(path)
            try:
                yield {name: result[name] for name in COLUMNS}
            except KeyError as error:
                hint = "Remove that run's folder and compute it anew."
                raise DataError(f"{str(path)!r} has no {error.args[0]!r}.", hint) from None

    def results(self) -> list[dict[str, Any]]:
        """The results of all finished runs, ordered by their specifications."""
        rows = list(self.finished())
        try:
            return sorted(rows, key=operator.itemgetter(*FIELDS))
        except TypeError:
            # Values of different types in one field, which whoever reads them will refuse.
            return sorted(rows, key=lambda row: [(str(type(row[name])), str(row[name])) for name in FIELDS])

    def rebuild_csv(self) -> None:
        """Write results.csv anew from the result files."""
        write_atomic(self.csv_path, to_csv(self.results()))


def to_csv(rows: Iterable[dict[str, Any]]) -> bytes:
    """Results as the CSV file that reports read."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: to_csv_text(v) if isinstance(v, str) else v for name, v in row.items()})
    return text.getvalue().encode()


def epochs_to_90(log: Iterable[dict[str, Any]]) -> int | None:
    """The first epoch whose training score is at least 0.9; None if there is none."""
    return next((line["epoch"] for line in log if line["train_score"] >= 0.9), None)


def _log_line(line: dict[str, Any]) -> bytes:
    return (json.dumps(line, allow_nan=False) + "\n").encode()


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
        schema = content["schema"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(
            f"Cannot read {str(path)!r}: {error}.", "Remove that run's folder and compute it anew."
        ) from error
    if schema != SCHEMA:
        raise DataError(
            f"{str(path)!r} has schema version {schema!r}; this version of lipgnn reads {SCHEMA}.",
            "Read it with the version of lipgnn that wrote it.",
        )
    return content
