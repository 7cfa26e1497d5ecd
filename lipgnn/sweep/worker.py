"""One run on behalf of a sweep: the function every engine calls, and the process the local engine keeps warm.

The process reads requests and writes messages, both JSON, one a line. It ends when its input does, so it does not
outlive the sweep that started it: the epoch is finished, the state is saved, and the same sweep goes on from there.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

from lipgnn.errors import Interrupted, LipgnnError
from lipgnn.results.claims import Held
from lipgnn.results.store import Store
from lipgnn.runtime import POLITE_SIGNALS
from lipgnn.spec.run import RunSpec
from lipgnn.tasks import TaskData, load
from lipgnn.trackers import train
from lipgnn.training.events import Finished, Started
from lipgnn.training.selection import Epoch

Message = dict[str, Any]


def compute(
    request: Message,
    *,
    tell: Callable[[Message], None] = lambda message: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Message:
    """Compute the run of a request and say how it ended.

    Parameters
    ----------
    request : {"spec", "run_id", "results", "force", "record", "save_every", "log"}.
    tell : called with {"event": "started"|"epoch", …} on the way.

    Returns
    -------
    {"event": "ended", "status", "reason", "result"}; the status is "done", "diverged", "failed", "interrupted", "held"
    (another process computes it now) or "elsewhere" (another process was first and its result is here).
    """
    spec = RunSpec.from_mapping(request["spec"])
    store = Store(Path(request["results"]))
    epoch = 0

    def say(message: Message) -> None:
        nonlocal epoch
        epoch = message["epoch"]
        tell(message)

    def warn(sentence: str) -> None:
        say({"event": "epoch", "epoch": epoch, "note": f"Warning: {sentence}"})

    try:
        dataset = _data(spec.dataset, spec.split, spec.missing, spec.features)
        how = {name: request[name] for name in ("force", "record", "save_every", "log")}
        how |= {"warn": warn, "should_stop": should_stop, "update_csv": False}
        return _followed(train(spec, dataset, store, **how), say)
    except Held as error:
        return _ended("held", error.message)
    except Interrupted as error:
        return _ended("interrupted", error.message)
    except (LipgnnError, RuntimeError, ValueError, ArithmeticError, MemoryError, OSError) as error:
        reason = error.message if isinstance(error, LipgnnError) else f"{type(error).__name__}: {error}"
        # Where not even the note can be written, the sweep tells the reason all the same.
        with contextlib.suppress(LipgnnError):
            store.run(request["run_id"]).fail(reason, epoch)
        return _ended("failed", reason)


def _followed(events: Iterable[Started | Epoch | Finished], say: Callable[[Message], None]) -> Message:
    """Say what happens in a training until it has a result, and how that came about."""
    started = False
    for event in events:
        if isinstance(event, Finished):
            status = event.result["status"] if started else "elsewhere"
            return _ended(status, event.result.get("diverged_at"), event.result)
        if isinstance(event, Started):
            started = True
            for note in list(filter(None, (event.note, event.slower))) or [None]:
                say({"event": "started", "epoch": event.resumed_epoch, "note": note})
        else:
            numbers = {"epoch": event.epoch, "val_score": event.val_score, "best_epoch": event.best_epoch}
            say({"event": "epoch", **numbers})
    raise AssertionError("a run ends with a result or an error")


def main() -> None:
    """Serve requests from stdin until it closes."""
    # Ctrl-C reaches the whole process group; the sweep decides what it means and says so on our stdin.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
    stop = threading.Event()

    def end(number: int = 0, frame: FrameType | None = None) -> None:
        stop.set()
        requests.put(None)

    # A service manager or Slurm sends SIGTERM to every process; a run it reaches is saved, not lost.
    signal.signal(signal.SIGTERM, end)
    # Blocked since our start, so that none arrived while these lines were still to come.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, POLITE_SIGNALS)
    threading.Thread(target=_listen, args=(requests, stop), daemon=True).start()
    # Nothing but messages may reach the sweep, whatever a library prints.
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def tell(message: Message) -> None:
        try:
            channel.write(json.dumps(message) + "\n")
        except BrokenPipeError:
            # The sweep is gone, which is no fault of the run: it is saved.
            end()

    tell({"event": "ready"})
    while (request := requests.get()) is not None and not stop.is_set():
        tell(compute(request, tell=tell, should_stop=stop.is_set))


def _listen(requests: queue.SimpleQueue[Message | None], stop: threading.Event) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "stop" in message:
            break
        requests.put(message)
    stop.set()
    requests.put(None)


def _ended(status: str, reason: str | None = None, result: Message | None = None) -> Message:
    return {"event": "ended", "status": status, "reason": reason, "result": result}


@functools.lru_cache(maxsize=2)
def _data(dataset: str, split: str, missing: float, features: str) -> TaskData:
    """Data sets are never changed, so neighbouring runs of a sweep may share one."""
    return load(dataset, split=split, missing=missing, features=features)


if __name__ == "__main__":
    main()
