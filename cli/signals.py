"""Ctrl-C and SIGTERM as a polite request: the epoch ends, the state is saved, and the run can go on later."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType

from lipgnn.runtime import POLITE_SIGNALS

AFTER_EPOCH = "Stopping: the run ends after this epoch and is saved. Ctrl-C once more stops it at once."


class StopRequest:
    """Whether a signal has asked to stop; a second Ctrl-C stops at once.

    A context manager that is called as `should_stop()`.

    Parameters
    ----------
    words : what is said of it on stderr.
    silent : whether nothing is said, because nobody reads it or because something else says so.
    """

    def __init__(self, words: str = AFTER_EPOCH, *, silent: bool = False) -> None:
        self.requested = False
        self.words, self.silent = words, silent

    def __call__(self) -> bool:
        return self.requested

    def __enter__(self) -> StopRequest:
        self._earlier = {number: signal.signal(number, self._handle) for number in POLITE_SIGNALS}
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._earlier.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        if self.silent:
            return
        # Not through the console: a handler may interrupt it in the middle of a line. There may be nobody to read it.
        with contextlib.suppress(OSError):
            os.write(sys.stderr.fileno(), f"\n{self.words}\n".encode())
