"""The memory a step takes at its highest point, measured in a process that does nothing else.

Peaks of steps that share a process say nothing: what one leaves behind is what the next has for nothing. So every
step gets a fresh process. It loads all libraries by a tiny step of the same kind, makes graph, features and weights,
and reads the memory it then has; what the step adds to that at its highest point is the peak.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lipgnn.errors import RunFailed

_STATUS = Path("/proc/self/status")


def peak_of(step: Callable[[], object]) -> float | None:
    """MB that the step adds at its highest point; None where the system does not tell."""
    if not _STATUS.exists():
        return None
    # What was freed but is still with the process would be had for nothing; not every C library can give it back.
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
    # Forgets the peak so far, which may lie above what is still in use.
    Path("/proc/self/clear_refs").write_text("5")
    before = _megabytes("VmRSS")
    result = step()
    peak = _megabytes("VmHWM")
    del result
    return round(max(0.0, peak - before), 1)


def peak_in_child(module: str, job: dict[str, Any], threads: int) -> float | None:
    """The peak that `python -m module JOB` writes; None where it was killed, as happens when memory runs out.

    Raises
    ------
    RunFailed : the process failed in another way.
    """
    done = subprocess.run(
        [sys.executable, "-m", module, json.dumps(job)],
        env={**os.environ, "OMP_NUM_THREADS": str(threads)},
        capture_output=True,
        text=True,
    )
    if done.returncode == -signal.SIGKILL:
        return None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise RunFailed(f"The process that measures memory failed: {last}")
    return json.loads(done.stdout)


def available_mb() -> float | None:
    """Memory that can be taken now without anything being swapped out; None where the system does not tell."""
    try:
        return _megabytes("MemAvailable", Path("/proc/meminfo"))
    except OSError:
        return None


def _megabytes(key: str, path: Path = _STATUS) -> float:
    line = next(line for line in path.read_text().splitlines() if line.startswith(f"{key}:"))
    return int(line.split()[1]) / 2**10
