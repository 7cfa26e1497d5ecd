"""stdout and stderr that outlive their readers.

Who reads our output may leave (`lipgnn sweep … 2>&1 | head -1`). What is written then goes nowhere, and the work goes
on to its end and to its true exit code.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from lipgnn.errors import RunFailed


class _Unbroken(io.FileIO):
    """A file that can always be written: after an error its descriptor leads nowhere, for child processes as well.

    Attributes
    ----------
    error : the first one, None if all was written.
    """

    error: OSError | None = None

    def write(self, content: bytes) -> int:
        try:
            return super().write(content)
        except OSError as error:
            self.error = error
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return len(content)


@contextlib.contextmanager
def unbroken_streams() -> Iterator[None]:
    """Let stdout and stderr outlive their readers, a lost terminal and a full disk.

    Raises
    ------
    RunFailed : at the end, where stdout could not be written for another reason than that its reader left.
    """
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_unbroken(stream) for stream in before)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        error = getattr(sys.stdout.buffer.raw, "error", None)
        sys.stdout, sys.stderr = before
    if error and not isinstance(error, BrokenPipeError):
        raise RunFailed(
            f"Could not write the output: {error.strerror or error}.", "Free some space, then run it again."
        )


def _unbroken(stream: TextIO | None) -> TextIO:
    """A stream like this one on the same descriptor; on the null device where the caller has closed it."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    stream.flush()
    raw = _Unbroken(stream.fileno(), "w", closefd=False)
    # A file name may hold what no encoding does.
    return io.TextIOWrapper(
        io.BufferedWriter(raw), stream.encoding, "backslashreplace", line_buffering=stream.line_buffering
    )
