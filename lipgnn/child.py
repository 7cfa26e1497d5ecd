"""Child processes that read orders line by line from their input, and end when it is closed. No torch here."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from typing import IO, Any

from lipgnn.runtime import POLITE_SIGNALS, module_command

_GRACE_SECONDS = 5.0


class Child:
    """A module of lipgnn in a process of its own.

    Parameters
    ----------
    module : what it runs.
    threads : how many it may have.

    Attributes
    ----------
    process : with its input and its output as pipes.
    """

    def __init__(self, module: str, threads: int):
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
        # The process finds them blocked, and lets them through once it knows what they mean.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, POLITE_SIGNALS)
        try:
            self.process = subprocess.Popen(
                module_command(module),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def tell(self, message: dict[str, Any]) -> None:
        """Write a line to its input; that it has just died is noticed when its output ends."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write((json.dumps(message) + "\n").encode())
            self.process.stdin.flush()

    def fate(self) -> str:
        """How it ended, once it has."""
        code = self.process.returncode
        return f"ended with exit code {code}" if code >= 0 else f"killed by signal {-code} ({_signal_name(-code)})"

    def last_words(self) -> list[str]:
        """The last line that it printed on stderr, if there is one."""
        self._stderr.seek(0)
        return self._stderr.read().decode(errors="replace").strip().splitlines()[-1:]

    def end(self) -> None:
        """Close its input, which ends it, and see it out; one that does not end is killed."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.close()

    def close(self) -> None:
        """Close its pipes."""
        for stream in (self.process.stdin, self.process.stdout, self._stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
