"""The program of a worker that another process of this machine has started.

It reads one line of JSON: which worker it is, where the others are found and which data it needs. It reads the data,
says on stdout that it is ready, or why it is not, and does what worker 0 says. When its input ends so does it, at once:
whoever started it is gone, or has no more use for it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

from lipgnn.errors import DataError, LipgnnError
from lipgnn.runtime import POLITE_SIGNALS


class _Stop:
    """Whether this process alone was asked to stop, by SIGTERM; Ctrl-C reaches worker 0 as well, which says more."""

    def __init__(self) -> None:
        self.requested = False

    def __call__(self) -> bool:
        return self.requested

    def handle(self, number: int, frame: FrameType | None) -> None:
        self.requested = True


def main() -> None:
    """Take part in a run, from the first line of stdin on."""
    stop = _Stop()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, stop.handle)
    # Blocked since our start, so that none arrived while these lines were still to come.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, POLITE_SIGNALS)
    told = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    # Nothing but one line may reach worker 0, whatever a library prints.
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        _take_part(told, lambda: channel.write(json.dumps({"ready": True}) + "\n"), stop)
    except LipgnnError as error:
        channel.write(json.dumps({"message": error.message, "hint": error.hint}) + "\n")
        sys.exit(error.exit_code)


def _take_part(told: dict[str, Any], tell_ready: Any, stop: _Stop) -> None:
    import torch

    from lipgnn.tasks import load
    from lipgnn.tasks.batches import Share
    from lipgnn.training.distributed.connect import connected, find_store
    from lipgnn.training.distributed.follower import Follower
    from lipgnn.training.distributed.surroundings import LOOPBACK

    torch.set_num_threads(told["threads"])
    dataset = load(**told["data"])
    if dataset.fingerprint != told["fingerprint"]:
        raise DataError(f"Data set {told['data']['name']!r} has changed since worker 0 read it.", "Try again.")
    share = Share(told["rank"], told["world"])
    store = find_store(LOOPBACK, told["port"], share.world)
    tell_ready()
    with connected(share, store, loopback=True, machine=share.world) as team:
        Follower(dataset, team, share.rank, stop).obey()


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
