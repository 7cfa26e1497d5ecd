"""Real processes that are a team: forked from one that has imported everything, connected by gloo."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["lipgnn.training.loop", "torch._dynamo", "team_jobs"])


def together(workers: int, folder: Path, job: Callable[..., Any], *arguments: Any) -> list[Any]:
    """What `job(team, *arguments)` gives in each of so many processes.

    Parameters
    ----------
    folder : for the file by which they meet; used once.
    job : a function of a module that can be imported.
    """
    ends, processes = [], []
    for rank in range(workers):
        here, there = _CONTEXT.Pipe(duplex=False)
        process = _CONTEXT.Process(target=_take_part, args=(rank, workers, folder, there, job, arguments), daemon=True)
        process.start()
        there.close()
        ends.append(here)
        processes.append(process)
    try:
        found = [pickle.loads(end.recv_bytes()) for end in ends]
    except EOFError:
        found = [(False, "a process died")]
    finally:
        for process in processes:
            process.join(10)
            if process.is_alive():
                os.kill(process.pid, signal.SIGKILL)
                process.join()
    for good, what in found:
        assert good, what
    return [what for _, what in found]


def _take_part(rank: int, world: int, folder: Path, end: Any, job: Callable[..., Any], arguments: tuple) -> None:
    import torch
    import torch.distributed as dist

    from lipgnn.tasks.batches import Share
    from lipgnn.training.distributed.connect import connected

    torch.set_num_threads(1)
    try:
        store = dist.FileStore(str(folder / "meeting"), world)
        with connected(Share(rank, world), store, loopback=True, machine=world) as team:
            end.send_bytes(pickle.dumps((True, job(team, *arguments))))
    except BaseException:
        end.send_bytes(pickle.dumps((False, traceback.format_exc())))
