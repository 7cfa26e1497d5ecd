"""What takes long to read or compute is kept as an npz file and taken from there the next time.

The folder is LIPGNN_CACHE, or one in the user's cache directory; it may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import platformdirs

from lipgnn.errors import LipgnnError
from lipgnn.files import remove_leftovers, sha256, to_json

VARIABLE = "LIPGNN_CACHE"

# A new number where what is kept, or how it is computed, changes.
_SCHEMA = 2

T = TypeVar("T")


def cache_directory() -> Path:
    """The folder of what can be made again."""
    return Path(os.environ.get(VARIABLE) or Path(platformdirs.user_cache_dir("lipgnn")) / "cache")


def key_of_files(folder: Path, files: Iterable[Path]) -> str:
    """A key that changes when one of the files of `folder` is another, by name, size or time."""
    facts = [(str(file.relative_to(folder)), file.stat().st_size, file.stat().st_mtime_ns) for file in sorted(files)]
    return sha256(to_json(facts))


def remember(
    name: str, key: str, *, make: Callable[[], T], read: Callable[[Path], T], write: Callable[[T, Path], None]
) -> T:
    """What `make` gives, read from the cache if it was made before.

    Parameters
    ----------
    name : what it is, for people who look into the folder.
    key : hex digits that tell it from everything else of that name.
    make : makes it; its errors are the caller's.
    read, write : from and to a file. A file that cannot be read is as good as none, and where none can be
        written it is made anew each time: neither is an error.
    """
    path = cache_directory() / f"{name}-{_SCHEMA}-{key[:16]}.npz"
    with contextlib.suppress(LipgnnError):
        return read(path)
    made = make()
    with contextlib.suppress(LipgnnError, OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(path.parent)
        write(made, path)
    return made
