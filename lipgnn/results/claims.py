"""Who computes a run: one claim file, kept alive by a heartbeat, taken over when the heart has stopped.

It works on a folder shared by several machines, so it trusts neither their clocks nor their process numbers alone.
A claim that is lost all the same costs a run computed twice, never a wrong result: results are written once.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from lipgnn.errors import RunFailed
from lipgnn.files import TEMPORARY_PREFIX, create_once, to_json, write_atomic

BEAT_SECONDS = 5.0
# So long without a beat a claim looks dead; so many further beats are then waited for before it is taken over.
EXPIRY_SECONDS = 60.0
MISSED_BEATS = 3


class Held(RunFailed):
    """The run is being computed by somebody else."""


@dataclass(frozen=True)
class Holder:
    """Who holds a claim, and its latest heartbeat."""

    host: str
    pid: int
    started: str
    nonce: str
    beat: int

    @classmethod
    def myself(cls) -> Holder:
        return cls(socket.gethostname(), os.getpid(), _start_of(os.getpid()), secrets.token_hex(8), 0)

    def is_gone(self) -> bool:
        """Whether this was a process of this machine that has ended."""
        return self.host == socket.gethostname() and _start_of(self.pid) != self.started


class Claim:
    """The right to compute one run, for as long as the context lasts.

    Parameters
    ----------
    path : the claim file.
    what : what is claimed, for the message of `Held`.
    beat_seconds, expiry_seconds : see the constants above.

    Raises
    ------
    Held : somebody else holds it and is alive, as far as can be told.
    """

    def __init__(
        self, path: Path, what: str, *, beat_seconds: float = BEAT_SECONDS, expiry_seconds: float = EXPIRY_SECONDS
    ):
        self.path = path
        self.what = what
        self.beat_seconds = beat_seconds
        self.expiry_seconds = expiry_seconds
        self.me = Holder.myself()
        self._stop = threading.Event()

    def __enter__(self) -> Claim:
        while not create_once(self.path, to_json(asdict(self.me))):
            holder = self._holder()
            if holder and not holder.is_gone() and not self._has_stopped(holder):
                hint = "Wait for it; the same command then prints its result."
                raise Held(f"{self.what} is being computed by process {holder.pid} on {holder.host}.", hint)
            self._discard(holder)
        self._heart = threading.Thread(target=self._beat, daemon=True)
        self._heart.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._heart.join()
        if self._mine():
            self.path.unlink(missing_ok=True)

    def _beat(self) -> None:
        beat = 0
        while not self._stop.wait(self.beat_seconds):
            beat += 1
            # A disk that is full for a moment must not end a run that computes well.
            with contextlib.suppress(RunFailed):
                if not self._mine():
                    return
                write_atomic(self.path, to_json({**asdict(self.me), "beat": beat}))

    def _holder(self) -> Holder | None:
        """Who the file names; None where it is gone or damaged."""
        try:
            return Holder(**json.loads(self.path.read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def _mine(self) -> bool:
        holder = self._holder()
        return holder is not None and holder.nonce == self.me.nonce

    def _has_stopped(self, holder: Holder) -> bool:
        """Whether no beat came for long by the clock of the file system, nor while we watched by our own."""
        if _age(self.path) < self.expiry_seconds:
            return False
        watched_until = time.monotonic() + MISSED_BEATS * self.beat_seconds
        while time.monotonic() < watched_until:
            time.sleep(self.beat_seconds / 5)
            if self._holder() != holder:
                return False
        return True

    def _discard(self, holder: Holder | None) -> None:
        """Remove a dead claim, unless somebody else was faster and it is theirs by now."""
        if self._holder() == holder:
            self.path.unlink(missing_ok=True)


def _age(path: Path) -> float:
    """Seconds since `path` was written, both ends by the clock of its file system."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=TEMPORARY_PREFIX) as now:
        try:
            return os.fstat(now.fileno()).st_mtime - path.stat().st_mtime
        except FileNotFoundError:
            return 0.0


def _start_of(pid: int) -> str:
    """A mark of when a process of this machine started, empty if there is none; numbers are used again."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    with contextlib.suppress(OSError):
        os.kill(pid, 0)
        return "running"
    return ""
