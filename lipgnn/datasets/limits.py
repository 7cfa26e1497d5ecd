"""How much memory a file may take: held against its size and against what is free, before anything is allocated.

A compressed file of a few megabytes can hold gigabytes of zeros, and a header can announce any number.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from lipgnn.datasets.source import damaged
from lipgnn.errors import DataError
from lipgnn.memory import free_memory

SMALL_FILE, MOST_OF_SMALL = 10 * 10**6, 10**9
"""A file of up to 10 MB may take 1 GB of memory."""

MAX_GROWTH = 100
"""A larger file may take so many times its size."""

_FIELDS = 8
"""Bytes that a byte of text takes at most once it is cut into fields: two pointers for the two of `0,`."""


def check_memory(path: Path, expected: int, size: int) -> None:
    """Refuse a file that would take too much memory.

    Parameters
    ----------
    expected : bytes that reading it takes.
    size : bytes of the file.

    Raises
    ------
    DataError : says both, and what is allowed.
    """
    if expected > (allowed := min(_allowed(size), free_memory())):
        raise _too_large(path, f"its {size:,} bytes would take {expected:,} of memory, and {allowed:,} are allowed")


def read_text(path: Path) -> str:
    """The text of a file, which may be gzipped.

    Raises
    ------
    DataError : it is missing or damaged, no UTF-8, or would take too much memory.
    """
    with open_plain(path) as file:
        try:
            return file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise damaged(path, str(error)) from error


@contextlib.contextmanager
def open_plain(path: Path) -> Iterator[BinaryIO]:
    """Open a file of text, which may be gzipped, for reading; errors of reading it are those of data.

    Raises
    ------
    DataError : it is missing or damaged, or would take too much memory.
    """
    try:
        size = path.stat().st_size
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            yield io.BufferedReader(_Limited(path, file, size), 2**16)
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise damaged(path, getattr(error, "strerror", None) or str(error)) from error


class _Limited(io.RawIOBase):
    """A stream that refuses to go on where its content would take too much memory."""

    def __init__(self, path: Path, file: BinaryIO, size: int):
        self._path, self._file, self._size = path, file, size
        # Of free memory the text itself is certain; how much its fields take depends on what they are.
        self._most, self._seen = min(_allowed(size) // _FIELDS, free_memory()), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        self._seen += len(content)
        if self._seen > self._most:
            raise _too_large(self._path, f"its {self._size:,} bytes hold more than {self._most:,} of text")
        return len(content)


def _allowed(size: int) -> int:
    """Bytes of memory that a file of `size` bytes may take."""
    return MOST_OF_SMALL if size <= SMALL_FILE else MAX_GROWTH * size


def _too_large(path: Path, reason: str) -> DataError:
    return damaged(
        path,
        reason,
        "If it is what it should be: give it uncompressed, features as a sparse matrix, or free some memory.",
    )
