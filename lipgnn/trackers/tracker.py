"""What a tracker is told of a run, and what it does with it. No torch here."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from lipgnn.files import create_once, remove, to_json

FILE = "tracking.json"
# What a user sees runs of this program under, where a tracker sorts them into projects or experiments.
PROJECT = "lipgnn"


@dataclass(frozen=True)
class Tracked:
    """A run that is logged.

    Attributes
    ----------
    id : the same for every part of a run that is stopped and goes on, and another one where it is computed anew.
    title : a line that tells people which run it is.
    folder, results : of the run, and of all results; absolute.
    options : the options of the run by name.
    facts : what else is known at its start, such as its command and the fingerprint of its data.
    epoch : after which it goes on; 0 at its beginning.
    """

    id: str
    title: str
    folder: Path
    results: Path
    options: Mapping[str, Any]
    facts: Mapping[str, Any]
    epoch: int = 0

    @property
    def known(self) -> dict[str, Any]:
        """Options and facts that have a value."""
        return {name: value for name, value in {**self.options, **self.facts}.items() if value is not None}


class Tracker(Protocol):
    """Something that a run is logged by; what it raises ends the logging and not the run.

    Attributes
    ----------
    last : of a run that goes on, the last epoch that it holds already, and -1 if none; it is given those after it.
    """

    last: int

    def __init__(self, run: Tracked):
        """Begin, or go on where `run.id` was logged before; its package is imported here."""

    def log(self, epoch: int, numbers: Mapping[str, float]) -> None:
        """Take the numbers of an epoch, all of them finite; called once for an epoch, in their order."""

    def end(self, status: str, epoch: int, numbers: Mapping[str, float], figure: Path | None) -> None:
        """Take the final numbers and a PNG file, if there is one, and end.

        Parameters
        ----------
        status : "done" or "diverged" at the end of a run; "interrupted" or "failed" where it did not come to one.
        epoch : the last one.
        """


def tracking_id(folder: Path, run_id: str) -> str:
    """The id that trackers know a run by, from its folder, where it stands until the run is computed anew."""
    path = folder / FILE
    fresh = f"{run_id}-{secrets.token_hex(3)}"
    if create_once(path, to_json({"schema": 1, "id": fresh})):
        return fresh
    try:
        known = json.loads(path.read_bytes())["id"]
    except (OSError, ValueError, LookupError, TypeError):
        known = None
    if isinstance(known, str) and known.startswith(f"{run_id}-"):
        return known
    # A damaged file tells nothing; the run is logged as a new one.
    remove(path)
    return tracking_id(folder, run_id)
