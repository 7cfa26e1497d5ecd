"""One exception family: what was wrong, what was received, what to do, and the exit code that says so."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterable, Iterator


class LipgnnError(Exception):
    """Base of every error a user can cause or meet.

    Parameters
    ----------
    message : one sentence: what was wrong and what was received.
    hint : one sentence: what to do about it, if there is something.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint and hasattr(self, "add_note"):
            # Tracebacks show it, from Python 3.11 on.
            self.add_note(hint)


class RunFailed(LipgnnError):
    """A run started and could not be finished (exit 1)."""

    exit_code = 1


class UsageError(LipgnnError):
    """A value, name or option that cannot be used (exit 2)."""

    exit_code = 2


class DataError(LipgnnError):
    """Data that is missing, damaged or of the wrong shape (exit 4)."""

    exit_code = 4


class EnvironmentBroken(LipgnnError):
    """An installation or device that cannot do what was asked (exit 5)."""

    exit_code = 5


class Interrupted(LipgnnError):
    """Stopped on request; the state is saved and the same command resumes (exit 130)."""

    exit_code = 130


def unknown_name(kind: str, received: str, valid: Iterable[str]) -> UsageError:
    """The error for a name that is not in a list: all valid names, nearest match first.

    Parameters
    ----------
    kind : what the name should be the name of, e.g. "model".
    received : the name as the user gave it.
    valid : every name that would have been accepted.
    """
    names, received = list(valid), str(received)
    return UsageError(f"Unknown {kind} {received!r}.", f"{did_you_mean(received, names)}Valid: {', '.join(names)}.")


def did_you_mean(received: str, valid: Iterable[str]) -> str:
    """The question whether another name was meant, for the beginning of a hint; empty where none is near."""
    names = list(valid)
    if received in names:
        return ""
    # A word that goes on where a name ends is near as well: lipschitz and lip.
    near = difflib.get_close_matches(received, names, n=1) or [name for name in names if received.startswith(name)]
    return f"Did you mean {near[0]!r}? " if near else ""


@contextlib.contextmanager
def naming(source: str) -> Iterator[None]:
    """Whatever value is refused in this context is said to be from there."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{error.message} (from {source})", error.hint) from None
