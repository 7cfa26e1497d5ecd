"""Runs in child processes of this machine, kept warm from one run to the next, each ended by its own faults alone."""

from __future__ import annotations

import json
import os
import selectors
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from lipgnn.child import Child
from lipgnn.results.store import Store
from lipgnn.sweep.engines.events import Ended, Event, Orders, Progress
from lipgnn.sweep.plan import PlannedRun

# A worker is replaced after so many runs, so that a slow leak of memory stays small.
RUNS_A_WORKER = 50
_POLL_SECONDS = 0.2


class Worker(Child):
    """One child process and the run it computes."""

    def __init__(self, number: int, threads: int):
        super().__init__("lipgnn.sweep.worker", threads)
        self.number = number
        self.planned: PlannedRun | None = None
        self.epoch = 0
        self.runs = 0
        self.deadline: float | None = None
        self.timed_out = False
        self._pending = b""

    def start(self, planned: PlannedRun, orders: Orders) -> None:
        """Hand over a run."""
        self.planned, self.epoch = planned, 0
        self.runs += 1
        self.deadline = time.monotonic() + orders.timeout if orders.timeout else None
        self.tell(orders.request(planned))

    def stop(self) -> None:
        """Ask to finish the epoch, save and end."""
        self.tell({"stop": True})

    def messages(self) -> list[dict[str, Any]] | None:
        """What the process said since last asked; None once it is gone."""
        chunk = os.read(self.process.stdout.fileno(), 2**16)
        if not chunk:
            return None
        *lines, self._pending = (self._pending + chunk).split(b"\n")
        return [json.loads(line) for line in lines]

    def bury(self) -> tuple[str, float]:
        """Wait for a process that is gone; why it ended, and its peak memory in MB."""
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        reason, words = self.fate(), self.last_words()
        self.close()
        if self.process.returncode == -signal.SIGKILL:
            reason += ", as the system does when memory runs out"
        return ": ".join([reason, *words]), round(usage.ru_maxrss / 2**10, 1)


class LocalEngine:
    """Computes runs in up to `orders.jobs` processes.

    Parameters
    ----------
    keep_warm : keep the processes from one call of `run` to the next, until `close`.
    """

    def __init__(self, orders: Orders, *, keep_warm: bool = False):
        self.orders = orders
        self.keep_warm = keep_warm
        self.store = Store(orders.results)
        self._workers: dict[int, Worker] = {}
        self._notes: set[str] = set()

    def run(self, runs: Iterable[PlannedRun], should_stop: Callable[[], bool]) -> Iterator[Event]:
        """Compute all runs; after `should_stop` no new one, and those under way end after their epoch."""
        pending = deque(runs)
        workers = self._workers
        stopping = False
        with selectors.DefaultSelector() as selector:
            for worker in workers.values():
                selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
            try:
                while pending or any(worker.planned for worker in workers.values()):
                    if should_stop() and not stopping:
                        stopping = True
                        pending.clear()
                        for worker in workers.values():
                            worker.stop()
                    self._hand_out(pending, selector)
                    for key, _ in selector.select(_POLL_SECONDS):
                        yield from self._hear(key.data, selector)
                    self._end_late_runs()
            finally:
                # Whoever was asked to stop, or is left with a run, takes no other.
                if stopping or not self.keep_warm or any(worker.planned for worker in workers.values()):
                    self.close()

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers.values():
            worker.end()
        self._workers.clear()

    def _hand_out(self, pending: deque[PlannedRun], selector: selectors.BaseSelector) -> None:
        workers = self._workers
        for number in range(self.orders.jobs):
            worker = workers.get(number)
            if not pending or (worker and worker.planned):
                continue
            if worker and worker.runs >= RUNS_A_WORKER:
                selector.unregister(worker.process.stdout)
                workers.pop(number).end()
                worker = None
            if worker is None:
                worker = workers[number] = Worker(number, self.orders.threads)
                selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
            worker.start(pending.popleft(), self.orders)

    def _hear(self, worker: Worker, selector: selectors.BaseSelector) -> Iterator[Event]:
        messages = worker.messages()
        if messages is None:
            selector.unregister(worker.process.stdout)
            del self._workers[worker.number]
            reason, peak = worker.bury()
            if worker.planned:
                run = self.store.run(worker.planned.run_id)
                if not self.orders.force and (result := run.result()):
                    # It died between finishing and saying so.
                    yield Ended(worker.number, worker.planned, result["status"], None, result)
                    return
                if worker.process.returncode == 0:
                    # It was told to end before it had begun.
                    yield Ended(worker.number, worker.planned, "interrupted", "stopped before its first epoch")
                    return
                if worker.timed_out:
                    reason = f"longer than the timeout of {self.orders.timeout:g} seconds"
                run.fail(reason, worker.epoch, peak)
                told = f"{reason}; peak memory {peak:g} MB"
                yield Ended(worker.number, worker.planned, "failed", told, timed_out=worker.timed_out)
            return
        for message in messages:
            if message["event"] in ("started", "epoch"):
                worker.epoch = message["epoch"]
                numbers = (worker.epoch, message.get("val_score"))
                yield Progress(worker.number, worker.planned, *numbers, self._new(message.get("note")))
            elif message["event"] == "ended":
                planned, worker.planned, worker.deadline = worker.planned, None, None
                if message["status"] == "interrupted":
                    # It was told to end, by us or by SIGTERM, and takes no other run.
                    worker.runs = RUNS_A_WORKER
                yield Ended(worker.number, planned, message["status"], message["reason"], message["result"])

    def _new(self, note: str | None) -> str | None:
        """A note, unless another run has said the same."""
        if note is None or note in self._notes:
            return None
        self._notes.add(note)
        return note

    def _end_late_runs(self) -> None:
        for worker in self._workers.values():
            if worker.deadline and time.monotonic() > worker.deadline:
                worker.timed_out, worker.deadline = True, None
                worker.process.kill()
