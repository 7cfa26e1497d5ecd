"""Writing files so that a crash, a full disk or a second writer never leaves half of one."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lipgnn.errors import RunFailed, UsageError

TEMPORARY_PREFIX = ".tmp-"


def write_atomic(path: Path, content: bytes | memoryview) -> None:
    """Replace `path` by `content`: readers see the old file or the new one, never a mixture."""
    with _temporary(path, content) as temporary:
        os.replace(temporary, path)
        _sync_directory(path.parent)


def create_once(path: Path, content: bytes) -> bool:
    """Create `path` with `content` unless it exists; the first writer wins.

    Returns
    -------
    whether this call created it; False leaves the earlier file as it was.
    """
    with _temporary(path, content) as temporary:
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        _sync_directory(path.parent)
        return True


def to_json(value: Any) -> bytes:
    """The one JSON form of files the tool writes: indented, UTF-8, no NaN, newline at the end."""
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


# A write takes milliseconds; clocks of machines that share a folder may differ by more.
_STALE_SECONDS = 300

# A spreadsheet takes text that starts like this for a formula, or its escape.
_FORMULA_STARTS = ("=", "+", "-", "@", "'")


def to_csv_text(text: str) -> str:
    """Text for a cell of a CSV file, with an apostrophe in front where a spreadsheet would calculate."""
    return f"'{text}" if text[:1] in _FORMULA_STARTS else text


def from_csv_text(cell: str) -> str:
    """The text that `to_csv_text` wrote."""
    return cell.removeprefix("'")


def sha256(content: bytes) -> str:
    """Hex digest of `content`."""
    return hashlib.sha256(content).hexdigest()


def remove_leftovers(folder: Path) -> None:
    """Delete the temporary files that killed writers left in `folder`; a young one may be of a writer at work."""
    for leftover in folder.glob(f"{TEMPORARY_PREFIX}*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - leftover.stat().st_mtime > _STALE_SECONDS:
                leftover.unlink()


def ensure_writable(folder: Path, remedy: str = "Choose another folder with --results (or LIPGNN_RESULTS).") -> None:
    """Create `folder` and prove that a file can be written in it, or say why not and what to do.

    Raises
    ------
    UsageError : the folder cannot be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=TEMPORARY_PREFIX):
            pass
    except OSError as error:
        raise UsageError(
            f"Cannot write to {str(folder)!r}: {error.strerror or error}.",
            remedy,
        ) from error


@contextlib.contextmanager
def _temporary(path: Path, content: bytes | memoryview) -> Iterator[str]:
    """A synced temporary file beside `path`, gone afterwards whatever happens."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=TEMPORARY_PREFIX)
    except OSError as error:
        raise _write_failure(path, content, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes private files; results are meant to be shared like any other file.
        os.chmod(temporary, 0o666 & ~_umask())
        yield temporary
    except OSError as error:
        raise _write_failure(path, content, error) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def _write_failure(path: Path, content: bytes | memoryview, error: OSError) -> RunFailed:
    return RunFailed(
        f"Could not write {str(path)!r} ({len(content)} bytes): {error.strerror or error}.",
        "Nothing was overwritten. Free some space or choose another folder, then run the same command again.",
    )


def _sync_directory(folder: Path) -> None:
    """Make a rename or link in `folder` survive a power loss."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
