"""Ctrl-C and SIGTERM as a polite request: the epoch ends, the state is saved, and the run can go on later."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType

from lipgnn.runtime import POLITE_SIGNALS


class StopRequest:
    """Whether a signal has asked to stop; a second Ctrl-C stops at once.

    A context manager that is called as `should_stop()`.

    Parameters
    ----------
    silent : say nothing of it.
    """

    def __init__(self, *, silent: bool = False) -> None:
        self.requested = False
        self._silent = silent

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
        if self._silent:
            return
        # Not through the console: a handler may interrupt it in the middle of a line. There may be nobody to read it.
        with contextlib.suppress(OSError):
            os.write(sys.stderr.fileno(), b"\nStopping after this epoch; once more to stop at once.\n")
