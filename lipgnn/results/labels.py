"""Names and tags that people give their runs, so that they find them again. No torch here.

They stand in `labels.json` beside a run, and are no part of what it computes: neither its id nor its result knows them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from lipgnn.errors import DataError, UsageError
from lipgnn.files import to_json, write_atomic
from lipgnn.words import unreadable

FILE = "labels.json"
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_LIKE_AN_ID = re.compile(r"[0-9a-f]{1,12}")


@dataclass(frozen=True)
class Labels:
    """What a run is called, if anything, and its tags."""

    name: str | None = None
    tags: tuple[str, ...] = ()


def check_label(kind: str, text: str) -> str:
    """The text of a name or a tag.

    Raises
    ------
    UsageError : it has other characters than a label may have, or, as a name, it could be the id of a run.
    """
    if not _LABEL.fullmatch(text):
        raise UsageError(
            f"The {kind} {text[:80]!r} is none that can be given.",
            "Use letters, digits, dots, hyphens and underscores, at most 64, and begin with a letter or a digit.",
        )
    if kind == "name" and _LIKE_AN_ID.fullmatch(text):
        raise UsageError(f"The name {text!r} could be the id of a run.", "Add a letter beyond f, or a hyphen.")
    return text


def check_labels(name: str | None, tags: Iterable[str]) -> None:
    """Refuse a name, if there is one, or tags that cannot be given; errors as above."""
    if name is not None:
        check_label("name", name)
    for tag in tags:
        check_label("tag", tag)


def read_labels(folder: Path) -> Labels:
    """The labels of the run in this folder; none where nobody gave any.

    Raises
    ------
    DataError : the file is damaged.
    """
    path = folder / FILE
    try:
        content = json.loads(path.read_bytes())
        name, tags = content["name"], content["tags"]
        if not (name is None or isinstance(name, str)) or not all(isinstance(tag, str) for tag in tags):
            raise ValueError("its labels are no texts")
    except FileNotFoundError:
        return Labels()
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise DataError(
            f"Cannot read the labels in {str(path)!r}: {unreadable(error)}.", "Remove that file."
        ) from error
    return Labels(name, tuple(tags))


def write_labels(folder: Path, labels: Labels) -> None:
    """Put these labels in the place of those that the run in this folder has."""
    write_atomic(folder / FILE, to_json(asdict(labels)))


def find_named(runs: Path, name: str) -> Path | None:
    """The folder, among those in `runs`, of the run with this name; None where there is none."""
    return next((path.parent for path in runs.glob(f"*/{FILE}") if read_labels(path.parent).name == name), None)


def add_labels(folder: Path, *, name: str | None = None, tags: Iterable[str] = ()) -> Labels:
    """Give a run a name in the place of its own, and further tags; a run beside it that had this name loses it.

    Returns
    -------
    all its labels.
    """
    if name and (other := find_named(folder.parent, name)) not in (None, folder):
        write_labels(other, Labels(None, read_labels(other).tags))
    own = read_labels(folder)
    labels = Labels(name or own.name, tuple(dict.fromkeys((*own.tags, *tags))))
    if labels != own:
        write_labels(folder, labels)
    return labels
