"""Which runs a sweep had: one file a sweep in `sweeps/` of the folder of results, so that it can be reported alone.

The file is written when the sweep begins. It names runs and holds no results, so that removing it loses none.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lipgnn.errors import DataError, UsageError, unknown_name
from lipgnn.files import ensure_writable, to_json, write_atomic
from lipgnn.results.labels import check_label
from lipgnn.words import unreadable

SCHEMA = 1
# In the place of a name: the sweep that began last.
LAST = "last"


@dataclass(frozen=True)
class Sweep:
    """A sweep that was begun.

    Attributes
    ----------
    name : the one it was given, or the time when it was begun first.
    began : when it was begun last, in UTC, as text that sorts.
    runs : the ids of all its runs, computed or not.
    """

    name: str
    began: str
    runs: tuple[str, ...]


def note_sweep(results: Path, runs: Iterable[str], name: str | None = None) -> Sweep:
    """Write down that a sweep of these runs begins; the same runs under no name are the same sweep again.

    Parameters
    ----------
    name : takes the place of a sweep that had this name.

    Raises
    ------
    UsageError : no sweep can have this name.
    """
    began = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    runs = tuple(dict.fromkeys(runs))
    if name is None:
        earlier = (sweep.name for sweep in read_sweeps(results) if set(sweep.runs) == set(runs))
        name = next(earlier, began.replace(":", "").partition(".")[0])
    check_sweep_name(name)
    folder = results / "sweeps"
    ensure_writable(folder)
    sweep = Sweep(name, began, runs)
    write_atomic(folder / f"{name}.json", to_json({"schema": SCHEMA, "began": began, "runs": list(runs)}))
    return sweep


def check_sweep_name(name: str) -> None:
    """Refuse a name that no sweep can have.

    Raises
    ------
    UsageError : says why.
    """
    check_label("name", name)
    if name == LAST:
        raise UsageError(f"The name {LAST!r} means the sweep that began last.", "Choose another name.")


def read_sweeps(results: Path) -> list[Sweep]:
    """All sweeps of a folder of results, the one that began last at the end.

    Raises
    ------
    DataError : a file is damaged.
    """
    return sorted((_read(path) for path in (results / "sweeps").glob("*.json")), key=lambda sweep: sweep.began)


def find_sweep(results: Path, name: str) -> Sweep:
    """The sweep of this name, or the last one.

    Raises
    ------
    UsageError : there is none.
    """
    sweeps = read_sweeps(results)
    if not sweeps:
        raise UsageError(
            f"No sweep was begun in {str(results)!r}.", "Compute one: lipgnn sweep --layers 2,8 --norm none,lip"
        )
    if name == LAST:
        return sweeps[-1]
    by_name = {sweep.name: sweep for sweep in sweeps}
    if name not in by_name:
        raise unknown_name("sweep", name, [LAST, *by_name])
    return by_name[name]


def _read(path: Path) -> Sweep:
    try:
        content = json.loads(path.read_bytes())
        began, runs = content["began"], content["runs"]
        if content["schema"] != SCHEMA or not all(isinstance(text, str) for text in (began, *runs)):
            raise ValueError(f"it is not of schema version {SCHEMA}")
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise DataError(f"Cannot read the sweep in {str(path)!r}: {unreadable(error)}.", "Remove that file.") from error
    return Sweep(path.stem, began, tuple(runs))
