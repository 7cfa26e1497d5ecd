"""The store: one directory a run (lipgnn.results.run), and results.csv as a view of their results. No torch here.

Deleting results/results.csv loses nothing: it is rebuilt from the result files.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lipgnn.errors import DataError, UsageError
from lipgnn.files import remove_leftovers, to_csv_text, write_atomic
from lipgnn.results.columns import COLUMNS, OPTIONAL, RUN_ID
from lipgnn.results.labels import find_named
from lipgnn.results.run import Run, read_result
from lipgnn.spec.run import FIELDS

# The states of a run that have a model file: of the selected epoch, and before it diverged.
BEST, LAST_GOOD = "best", "last-good"
STATES = (BEST, LAST_GOOD)
MODEL_SUFFIX = ".safetensors"


class Store:
    """A folder of runs and the table of their results, whether it exists or not.

    Raises
    ------
    UsageError : no folder can have this name, or it cannot be looked into.
    """

    def __init__(self, root: Path):
        # A name that is too long is an OSError, one with a NUL a ValueError.
        try:
            os.stat(root)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(
                f"Cannot look for results in {str(root)[:300]!r}: {reason}.",
                "Choose another folder with --results (or LIPGNN_RESULTS).",
            ) from error
        if os.path.isfile(root):
            raise UsageError(
                f"{str(root)!r} is a file, and a store of results is a folder.",
                "Choose a folder with --results (or LIPGNN_RESULTS).",
            )
        self.root = root
        self.runs_path = root / "runs"
        self.csv_path = root / "results.csv"

    def run(self, run_id: str) -> Run:
        """The run with exactly this id, whether it exists or not.

        Raises
        ------
        DataError : what a foreign file gave as an id is none, and might lead out of the store.
        """
        if not RUN_ID.fullmatch(run_id):
            raise DataError(f"{run_id[:80]!r} is no id of a run.", "An id has 12 digits of 0-9 and a-f.")
        return Run(self.runs_path / run_id)

    def find(self, reference: str) -> Run:
        """The run with this folder, or else the one whose id starts so or whose name it is.

        Raises
        ------
        UsageError : none or several do.
        """
        if os.path.isdir(reference):
            return Run(Path(reference))
        if (named := find_named(self.runs_path, reference)) is not None:
            return self.run(named.name)
        known = [run.id for run in self.runs()]
        matches = [name for name in known if re.fullmatch(r"[0-9a-f]+", reference) and name.startswith(reference)]
        if len(matches) == 1:
            return self.run(matches[0])
        if matches:
            raise UsageError(
                f"Run {reference!r} is ambiguous: {', '.join(matches[:10])}.", "Give more digits of the id."
            )
        if reference.endswith(MODEL_SUFFIX):
            raise UsageError(f"There is no file {reference!r}.", "Give a saved model that is there, or a run.")
        raise UsageError(
            f"No run {reference!r} in {str(self.runs_path)!r}.",
            f"Runs there: {', '.join(known[:10]) or 'none'}{' …' if len(known) > 10 else ''}.",
        )

    def find_model(self, reference: str, at: str | None = BEST) -> Path:
        """The model file of a run that `find` finds; `reference` may also be such a file itself.

        Parameters
        ----------
        at : BEST, the selected epoch; LAST_GOOD, the last good state of a run that diverged; or None for the former
            where there is one, and the latter of a run that diverged before an epoch could be selected.

        Raises
        ------
        DataError : the run has no model yet, or diverged before there was one to select.
        UsageError : there is no such run, or it has not diverged and its last good state is asked for.
        """
        if os.path.isfile(reference):
            return Path(reference)
        run = self.find(reference)
        best, good = run.best_path.exists(), run.last_good_path.exists()
        if at == LAST_GOOD and not good:
            raise UsageError(
                f"Run {run.id} keeps no last good state, as only runs do that diverged.", f"Use --at {BEST}."
            )
        if at == LAST_GOOD or (at is None and good and not best):
            return run.last_good_path
        if not best:
            raise _without_model(run, diverged=good)
        return run.best_path

    def remove(self, run_id: str) -> None:
        """Delete a run with all its files; results.csv has it until it is rebuilt.

        Raises
        ------
        Held : somebody computes it.
        """
        run = self.run(run_id)
        with run.claim():
            run.clear()
        os.rmdir(run.path)

    def runs(self) -> list[Run]:
        """All runs that were begun, ended or failed, ordered by id; their files are not read."""
        found = (Run(path) for path in sorted(self.runs_path.glob("*"), key=str))
        return [run for run in found if run.exists()]

    def failed(self) -> list[str]:
        """Ids of the runs whose last attempt failed; some may have a result by now."""
        return [path.parent.name for path in self.runs_path.glob("*/failure.json")]

    def states(self) -> dict[str, str]:
        """For every run that ended: "failed", or the status of its result."""
        return dict.fromkeys(self.failed(), "failed") | {row["run_id"]: row["status"] for row in self.finished()}

    def finished(self) -> Iterator[dict[str, Any]]:
        """The results of finished runs, one by one: dictionaries with the keys of COLUMNS, ordered by run id."""
        for path in sorted(self.runs_path.glob("*/result.json"), key=str):
            yield row_of(path)

    def results(self) -> list[dict[str, Any]]:
        """The results of all finished runs, ordered by their specifications."""
        # What has no value comes before what has one.
        return sorted(self.finished(), key=lambda row: [(row[name] is not None, row[name]) for name in FIELDS])

    def rebuild_csv(self) -> None:
        """Write results.csv anew from the result files."""
        remove_leftovers(self.root)
        write_atomic(self.csv_path, to_csv(self.results()))


def row_of(path: Path) -> dict[str, Any]:
    """The content of a result file, with the keys of COLUMNS.

    Raises
    ------
    DataError : it is damaged, or of another run than the folder it is in.
    """
    result = read_result(path)
    if result.get("run_id") != path.parent.name or not RUN_ID.fullmatch(path.parent.name):
        raise DataError(
            f"{str(path)!r} is of run {result.get('run_id')!r}; the folder of a run has its id for a name.",
            "Remove that folder, or give it the name it had.",
        )
    return {name: result[name] for name in COLUMNS}


def _without_model(run: Run, *, diverged: bool) -> DataError:
    if diverged:
        return DataError(
            f"Run {run.id} diverged before an epoch could be selected.",
            f"Look at it with `lipgnn diagnose {run.id} --at {LAST_GOOD}`.",
        )
    return DataError(
        f"{str(run.path)!r} holds no {run.best_path.name}.", "Finish the run first: give its train command again."
    )


def to_csv(rows: Iterable[dict[str, Any]]) -> bytes:
    """Results as the CSV file that reports read, with optional columns where some run needs them."""
    rows = list(rows)
    own = {name for name, usual in OPTIONAL.items() if any(row.get(name, usual) != usual for row in rows)}
    columns = [name for name in COLUMNS if name not in OPTIONAL or name in own]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: to_csv_text(v) if isinstance(v, str) else v for name, v in row.items()})
    return text.getvalue().encode()
