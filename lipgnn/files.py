"""Writing files so that a crash, a full disk or a second writer never leaves half of one."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from lipgnn.errors import RunFailed, UsageError

TEMPORARY_PREFIX = ".tmp-"

# A write takes milliseconds, and a large one goes on changing its file.
_STALE_SECONDS = 300

# A spreadsheet takes text that starts like this for a formula, or its escape.
_FORMULA_STARTS = ("=", "+", "-", "@", "'")

# What file systems say that have no hard links, or no rename that replaces nothing.
_UNSUPPORTED = (errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.EMLINK)
_AT_FDCWD, _RENAME_NOREPLACE = -100, 1  # of renameat2(2)


def write_atomic(path: Path, content: bytes | memoryview, check: Callable[[], None] = lambda: None) -> None:
    """Replace `path` by `content`: readers see the old file or the new one, never a mixture.

    Parameters
    ----------
    check : called when all is on disk, just before it takes its name; what it raises leaves the old file.
    """
    with _temporary(path, content) as temporary:
        check()
        os.replace(temporary, path)
        _sync_directory(path.parent)


def create_once(path: Path, content: bytes) -> bool:
    """Create `path` with `content` unless it exists; the first writer wins.

    Returns
    -------
    whether this call created it; False leaves the earlier file as it was.

    Raises
    ------
    UsageError : the file system cannot do that.
    """
    with _temporary(path, content) as temporary:
        created = _take_name(temporary, path)
        if created:
            _sync_directory(path.parent)
        return created


def append(path: Path, content: bytes) -> None:
    """Add `content` to the end of `path`, all of it or nothing; a link is not followed."""
    try:
        with _opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as descriptor:
            before = os.fstat(descriptor).st_size
            try:
                rest = memoryview(content)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
            except OSError:
                os.ftruncate(descriptor, before)
                raise
    except (OSError, ValueError) as error:
        raise _write_failure(path, content, error) from error


def sync(path: Path) -> None:
    """Force what was appended to `path` to the disk."""
    try:
        with _opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as descriptor:
            os.fsync(descriptor)
    except OSError as error:
        raise _write_failure(path, b"", error) from error


def rename(old: Path, new: Path) -> None:
    """Give a whole file its final name, in place of an earlier one."""
    try:
        os.replace(old, new)
    except OSError as error:
        raise _write_failure(new, b"", error) from error


def remove(path: Path) -> None:
    """Delete a file, or a link but not what it points to, if it is there."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise RunFailed(
            f"Could not remove {str(path)!r}: {error.strerror or error}.", "Remove it yourself, then try again."
        ) from error


def to_json(value: Any) -> bytes:
    """The one JSON form of files the tool writes: indented, UTF-8, no NaN, newline at the end."""
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def to_csv_text(text: str) -> str:
    """Text for a cell of a CSV file, with an apostrophe in front where a spreadsheet would calculate."""
    return f"'{text}" if text[:1] in _FORMULA_STARTS else text


def from_csv_text(cell: str) -> str:
    """The text that `to_csv_text` wrote."""
    return cell.removeprefix("'")


def sha256(content: bytes) -> str:
    """Hex digest of `content`."""
    return hashlib.sha256(content).hexdigest()


def age(path: Path) -> float:
    """Seconds since `path` was written, both ends by the clock of its file system; 0 if it is not there.

    Less than 0 where that clock was set back since.
    """
    with _scratch(path.parent) as (descriptor, _), contextlib.suppress(FileNotFoundError):
        return os.fstat(descriptor).st_mtime - os.lstat(path).st_mtime
    return 0.0


def remove_leftovers(folder: Path, *, others_write: Collection[str] | None = None) -> None:
    """Delete the temporary files, and folders of them, that killed writers left in `folder`.

    Parameters
    ----------
    others_write : names of the files that others than the caller may be writing now, where they can be told; a young
        temporary file of these is left alone.
    """
    for leftover in list(folder.glob(f"{TEMPORARY_PREFIX}*")):
        shared = others_write is None or any(leftover.name.startswith(_start_for(name)) for name in others_write)
        if shared and any(abs(age(path)) <= _STALE_SECONDS for path in (leftover, *leftover.rglob("*"))):
            continue
        with contextlib.suppress(OSError):
            shutil.rmtree(leftover) if leftover.is_dir() and not leftover.is_symlink() else leftover.unlink()


def ensure_writable(folder: Path, remedy: str = "Choose another folder with --results (or LIPGNN_RESULTS).") -> None:
    """Create `folder` and prove that a file can be written in it, or say why not and what to do.

    Raises
    ------
    UsageError : the folder cannot be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _scratch(folder):
            pass
    # A path with a NUL, or with text that no file system encodes, is a ValueError.
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"Cannot write to {_shortened(folder)}: {reason}.", remedy) from error


@contextlib.contextmanager
def _temporary(path: Path, content: bytes | memoryview) -> Iterator[str]:
    """A synced temporary file beside `path`, gone afterwards whatever happens."""
    try:
        with _scratch(path.parent, path.name) as (descriptor, temporary):
            with os.fdopen(os.dup(descriptor), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            yield temporary
    except (OSError, ValueError) as error:
        raise _write_failure(path, content, error) from error


@contextlib.contextmanager
def _scratch(folder: Path, name: str = "probe") -> Iterator[tuple[int, str]]:
    """A new file in `folder`, open, which results in no file unless it is renamed; made as any other file is."""
    path = os.path.join(folder, f"{_start_for(name)}{secrets.token_hex(8)}")
    with _opened(path, os.O_RDWR | os.O_CREAT | os.O_EXCL) as descriptor:
        try:
            yield descriptor, path
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)


@contextlib.contextmanager
def _opened(path: Path | str, flags: int) -> Iterator[int]:
    """A descriptor; what is made gets the permissions of the user's mask, and a link is not followed."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _start_for(name: str) -> str:
    """How the names of temporary files begin that are to become `name`; short, as names have a limit."""
    return f"{TEMPORARY_PREFIX}{name[:32]}-"


def _take_name(temporary: str, path: Path) -> bool:
    """Give a temporary file its name, unless there is a file of that name."""
    try:
        os.link(temporary, path)
        return True
    except OSError as error:
        # On a network the answer may get lost; the request, sent again, then meets the link that it has made itself.
        with contextlib.suppress(OSError):
            if os.path.samestat(os.lstat(temporary), os.lstat(path)):
                return True
        if isinstance(error, FileExistsError):
            return False
        if error.errno not in _UNSUPPORTED:
            raise
    return _rename_exclusively(temporary, path)


def _rename_exclusively(temporary: str, path: Path) -> bool:
    """The same by a rename that replaces nothing, which file systems without hard links may have."""
    with contextlib.suppress(AttributeError):
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
        if not renameat2(_AT_FDCWD, os.fsencode(temporary), _AT_FDCWD, os.fsencode(path), _RENAME_NOREPLACE):
            return True
        code = ctypes.get_errno()
        if code == errno.EEXIST:
            return False
        if code not in _UNSUPPORTED:
            raise OSError(code, os.strerror(code))
    raise UsageError(
        f"The file system of {str(path.parent)!r} has neither hard links nor renameat2 with RENAME_NOREPLACE, so two "
        "processes could write one result.",
        "Choose a folder on another file system with --results (or LIPGNN_RESULTS).",
    )


def _write_failure(path: Path, content: bytes | memoryview, error: OSError | ValueError) -> RunFailed:
    reason = getattr(error, "strerror", None) or error
    return RunFailed(
        f"Could not write {_shortened(path)} ({len(content)} bytes): {reason}.",
        "Nothing was overwritten. Free some space or choose another folder, then run the same command again.",
    )


def _shortened(path: Path) -> str:
    """A path as messages show it; names that are too long to be used are too long to be read."""
    text = str(path)
    return repr(text if len(text) <= 4096 else f"{text[:100]}…{text[-100:]}")


def _sync_directory(folder: Path) -> None:
    """Make a rename or link in `folder` survive a power loss, where the file system can sync folders."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)
