"""Who computes a run: one claim file, kept alive by a heartbeat, taken over when the heart has stopped.

It works on a folder shared by several machines and containers, so it trusts neither their clocks nor their process
numbers alone. A claim is dead if its process can be seen to have ended, or if whoever wants it has watched it for long
by its own clock and saw no beat. A holder that was silent for so long all the same, stopped or cut off, finds out
before it writes anything more: `Claim.check` asks whose the claim is.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
import socket
import threading
import time
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from lipgnn.errors import RunFailed
from lipgnn.files import age, create_once, remove, to_json

BEAT_SECONDS = 5.0
# So long without a beat a claim looks dead; as long again it is then watched before it is taken over.
EXPIRY_SECONDS = 60.0
_LOOKS_A_BEAT = 5
_MOST_BYTES = 4096
# The nonces of the claims that this process holds.
_HELD_HERE: set[str] = set()


class Held(RunFailed):
    """The run is being computed by somebody else."""


@dataclass(frozen=True)
class Holder:
    """Who holds a claim, and its latest heartbeat.

    Attributes
    ----------
    place : where process numbers and times of start mean the same (see `_place`).
    started : when the process started, as `place` tells it.
    nonce : tells two claims of one process apart.
    beat : a number that grows, always of the same length, so that it can be written in place.
    """

    host: str
    pid: int
    place: str
    started: str
    nonce: str
    beat: str = "00000000"

    @classmethod
    def myself(cls) -> Holder:
        _, started = _state_and_start("self")
        return cls(socket.gethostname(), os.getpid(), _place(), started, secrets.token_hex(8))

    @classmethod
    def parse(cls, content: bytes) -> Holder | None:
        """Who the content of a claim file names; None where it is damaged."""
        try:
            holder = cls(**json.loads(content))
        except (ValueError, TypeError, RecursionError):
            return None
        kinds = {field.name: int if field.name == "pid" else str for field in fields(cls)}
        return holder if all(type(getattr(holder, name)) is kind for name, kind in kinds.items()) else None

    def is_gone(self) -> bool:
        """Whether this was a process that can be seen from here and has ended, or is this one and holds it no more."""
        if self.place == "" or self.place != _place():
            return False
        if self.pid == os.getpid():
            # A claim that could not be removed, or that was used by an earlier process of this number.
            return self.nonce not in _HELD_HERE
        return _has_ended(self.pid, self.started)

    def at_beat(self, number: int) -> bytes:
        """The content of a claim file."""
        return to_json(asdict(replace(self, beat=f"{number:08d}")))


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
        self, path: Path, what: str, *, beat_seconds: float | None = None, expiry_seconds: float | None = None
    ):
        self.path = path
        self.what = what
        self.beat_seconds = beat_seconds or BEAT_SECONDS
        self.expiry_seconds = expiry_seconds or EXPIRY_SECONDS
        self.me = Holder.myself()
        self._stop = threading.Event()

    def __enter__(self) -> Claim:
        while not create_once(self.path, self.me.at_beat(0)):
            seen = _read(self.path)
            if seen is None:
                continue
            holder = Holder.parse(seen)
            if not (holder and holder.is_gone()) and not self._is_silent(seen, holder):
                if _read(self.path) is None:
                    continue
                raise Held(
                    f"{self.what} is being computed by {_words(holder)}.",
                    "Wait for it; the same command then prints its result.",
                )
            if _read(self.path) == seen:
                remove(self.path)
        _HELD_HERE.add(self.me.nonce)
        self._heart = threading.Thread(target=self._beat, daemon=True)
        self._heart.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._heart.join()
        _HELD_HERE.discard(self.me.nonce)
        if self._is_mine(_read(self.path)):
            remove(self.path)

    def check(self) -> None:
        """Make sure that this is still the holder; asked before everything that is written under the claim.

        Raises
        ------
        Held : somebody else is, or was.
        """
        for _ in range(3):
            content = _read(self.path)
            if self._is_mine(content):
                return
            # A network may show a file that is being written as missing or stale for a moment.
            time.sleep(0.02)
        taker = f"taken over by {_words(Holder.parse(content))}" if content is not None else "taken over"
        raise Held(
            f"{self.what} was {taker} while this process was silent for more than {self.expiry_seconds:g} seconds, or "
            "its claim was removed; nothing more is written by this process.",
            "The same command prints the result when the other has finished, or goes on where it stopped.",
        )

    def _is_mine(self, content: bytes | None) -> bool:
        return content is not None and self.me.nonce.encode() in content

    def _beat(self) -> None:
        number = 0
        while not self._stop.wait(self.beat_seconds):
            number += 1
            # A disk that fails for a moment must not end a run that computes well.
            with contextlib.suppress(OSError):
                self._write_beat(number)

    def _write_beat(self, number: int) -> None:
        """Write in place: after a takeover the file that was opened has no name, and the other's is not touched."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if self._is_mine(os.read(descriptor, _MOST_BYTES)):
                os.pwrite(descriptor, self.me.at_beat(number), 0)
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _is_silent(self, seen: bytes, holder: Holder | None) -> bool:
        """Whether no beat came for long by the clock of the file system, nor while we watched by our own.

        The first only saves the watching where a beat was written a moment ago; a date in the future says nothing. A
        damaged claim is watched for a beat: it may be about to be written.
        """
        if holder and 0 <= age(self.path) < self.expiry_seconds:
            return False
        watched = self.expiry_seconds if holder else self.beat_seconds
        # Counted, not timed: while this process is stopped itself, it watches nobody.
        for _ in range(math.ceil(_LOOKS_A_BEAT * watched / self.beat_seconds)):
            time.sleep(self.beat_seconds / _LOOKS_A_BEAT)
            if _read(self.path) != seen:
                return False
        return True


def is_abandoned(path: Path, seconds: float) -> bool:
    """Whether the holder of a claim can be seen to have ended, or wrote no beat for `seconds`; also without a claim."""
    content = _read(path)
    holder = Holder.parse(content) if content is not None else None
    return holder is None or holder.is_gone() or not abs(age(path)) < seconds


def _read(path: Path) -> bytes | None:
    """The content of a claim file; None where there is none, empty where it cannot be read."""
    try:
        # Neither a link nor a pipe in its place can lead or hold us up.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError:
        return b""
    try:
        return os.read(descriptor, _MOST_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _words(holder: Holder | None) -> str:
    return f"process {holder.pid} on {holder.host}" if holder else "an unknown process"


def _place() -> str:
    """This boot of this machine and this process's space of process numbers; empty where that cannot be told.

    Containers may share a host name and each have a process 1. The time of start is counted from a zero that a
    container can choose as well.
    """
    try:
        # Where /proc shows the processes of another space, a number looked up in it is somebody else's.
        if os.readlink("/proc/self") != str(os.getpid()):
            return ""
        place = [Path("/proc/sys/kernel/random/boot_id").read_text().strip(), os.readlink("/proc/self/ns/pid")]
    except OSError:
        return ""
    with contextlib.suppress(OSError):
        place.append(os.readlink("/proc/self/ns/time"))
    return " ".join(place)


def _has_ended(pid: int, started: str) -> bool:
    """Whether the process of this number that started then is no more; numbers are used again."""
    state, now = _state_and_start(str(pid))
    if now:
        return state in "ZX" or now != started
    try:
        # A process that /proc does not show may be somebody else's, who hides it.
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        return False
    return False


def _state_and_start(process: str) -> tuple[str, str]:
    """The state of a process and when it started, from /proc; empty if they cannot be read."""
    with contextlib.suppress(OSError, IndexError):
        words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return words[0], words[19]
    return "", ""
