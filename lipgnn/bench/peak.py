"""The memory a step takes at its highest point, measured in a process that does nothing else.

Peaks of steps that share a process say nothing: what one leaves behind is what the next has for nothing. So every
step gets a fresh process. It loads all libraries by a tiny step of the same kind, makes graph, features and weights,
and reads the memory it then has; what the step adds to that at its highest point is the peak.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any

from lipgnn.errors import RunFailed
from lipgnn.memory import forget_peak, memory_in_use, peak_memory
from lipgnn.runtime import module_command


def peak_of(step: Callable[[], object]) -> float | None:
    """MB that the step adds at its highest point; None where the system does not tell."""
    # In this order: what is given back when asked for the memory in use would otherwise count as the peak so far.
    before = memory_in_use()
    if not forget_peak():
        return None
    result = step()
    peak = peak_memory()
    del result
    return round(max(0, peak - before) / 2**20, 1)


def peak_in_child(module: str, job: dict[str, Any], threads: int) -> float | None:
    """The peak that `python -m module JOB` writes; None where it was killed, as happens when memory runs out.

    Raises
    ------
    RunFailed : the process failed in another way.
    """
    done = subprocess.run(
        module_command(module, json.dumps({**job, "threads": threads})),
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
