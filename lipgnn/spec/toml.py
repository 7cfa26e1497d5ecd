"""The one reader of TOML files: configurations, sweeps and studies. No torch here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError, UnexpectedEofError

from lipgnn.errors import UsageError
from lipgnn.words import unreadable


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """The content of a TOML file.

    Parameters
    ----------
    what : what the file should hold, for the error: "sweep", "configuration".

    Raises
    ------
    UsageError : it cannot be read.
    """
    try:
        return tomlkit.parse(_text(path)).unwrap()
    except TOMLKitError as error:
        raise _unreadable(path, what, _words(error)) from error
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(path, what, unreadable(error)) from error


def _text(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if "\0" in text:
        raise ValueError("it is no text")
    return text


def _words(error: TOMLKitError) -> str:
    # The parser takes the end of a file for this character.
    ends = isinstance(error, UnexpectedEofError) or "\\x00" in str(error)
    return "it ends in the middle of a value or a name" if ends else str(error)


def _unreadable(path: Path, what: str, reason: str) -> UsageError:
    return UsageError(f"Cannot read the {what} {str(path)!r}: {reason}.")
