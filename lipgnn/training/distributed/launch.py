"""The workers of a run: none, processes of this machine that are started here, or those that a launcher has started."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import selectors
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from lipgnn.child import Child
from lipgnn.errors import Interrupted, LipgnnError, RunFailed, UsageError
from lipgnn.spec.run import RunSpec
from lipgnn.tasks import TaskData
from lipgnn.tasks.batches import WHOLE, Share
from lipgnn.training.distributed.connect import connected, find_store, open_store
from lipgnn.training.distributed.surroundings import Place
from lipgnn.training.distributed.team import Team

# How long a worker whose connection broke may take to be gone.
_DYING_SECONDS = 3.0


class Unanswered(RunFailed):
    """Another worker is gone."""


class Workers:
    """No worker but this process: a context that the other kinds extend.

    Attributes
    ----------
    share : which worker this process is.
    local_rank : which one on its machine.
    exit_code : what the others are told at the end, if it is a good one.
    """

    def __init__(self, share: Share = WHOLE, local_rank: int = 0):
        self.share, self.local_rank = share, local_rank
        self.exit_code = 0
        # Processes end before the connections to them do.
        self._processes, self._connections = contextlib.ExitStack(), contextlib.ExitStack()
        self._team: Team | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: object) -> None:
        """Tell the others that it is over, unless it is because they cannot be told any more."""
        try:
            # Who is interrupted after its checkpoint leaves in good order.
            if self._team and self.share.rank == 0 and (error is None or isinstance(error, Interrupted)):
                # All is stored by now, whether or not somebody is gone who should hear of it.
                with contextlib.suppress(RuntimeError):
                    self._team.order("end", exit_code=error.exit_code if error else self.exit_code)
        finally:
            with self._connections, self._processes:
                pass

    def begin(self) -> None:
        """Let the others begin to come, where they have to be fetched."""

    def team(self) -> Team:
        """All of them, connected; waits for them the first time."""
        if self._team is None:
            self._team = self._connect()
        return self._team

    def _connect(self) -> Team:
        return Team()

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Say which worker is gone, where what fails is that it does not answer any more."""
        yield


class Launched(Workers):
    """Processes of this machine that are started here; this one is worker 0.

    The threads of torch are divided among all of them.
    """

    def __init__(self, spec: RunSpec, dataset: TaskData):
        super().__init__(Share(0, spec.workers))
        names = ("split", "missing", "features")
        self._data = {"name": spec.dataset, **{name: getattr(spec, name) for name in names}}
        self._fingerprint = dataset.fingerprint
        self._children: list[LaunchedWorker] = []

    def begin(self) -> None:
        if self._children:
            return
        world, before = self.share.world, torch.get_num_threads()
        threads = max(1, before // world)
        torch.set_num_threads(threads)
        self._processes.callback(torch.set_num_threads, before)
        self._store = open_store(world)
        told = {"world": world, "port": self._store.port, "threads": threads}
        told |= {"data": self._data, "fingerprint": self._fingerprint}
        for rank in range(1, world):
            child = LaunchedWorker(rank, {**told, "rank": rank})
            self._children.append(child)
            self._processes.callback(child.end)

    def _connect(self) -> Team:
        self.begin()
        for child in self._children:
            child.wait_until_ready()
        joined = connected(self.share, self._store, loopback=True, machine=self.share.world)
        return self._while_all_live(lambda: self._connections.enter_context(joined))

    def _while_all_live(self, connect: Callable[[], Team]) -> Team:
        """Wait for what waits for others itself, and would do so for long if one of them is gone meanwhile."""
        found: queue.SimpleQueue[Team | Exception] = queue.SimpleQueue()

        def wait() -> None:
            try:
                found.put(connect())
            except Exception as error:
                found.put(error)

        # A daemon: it would outlive a worker that never comes.
        threading.Thread(target=wait, daemon=True).start()
        while True:
            with contextlib.suppress(queue.Empty):
                got = found.get(timeout=_DYING_SECONDS if self._dead() else 0.05)
                if isinstance(got, Exception):
                    raise got
                return got
            if dead := self._dead():
                raise self._unanswered(dead)

    def _dead(self) -> LaunchedWorker | None:
        return next((child for child in self._children if child.process.poll() is not None), None)

    def _unanswered(self, child: LaunchedWorker) -> Unanswered:
        return Unanswered(
            f"{child.obituary()}; the others were ended, and the state of the last checkpoint is kept.",
            "The same command goes on from there.",
        )

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        try:
            yield
        except LipgnnError:
            raise
        except RuntimeError as error:
            deadline = time.monotonic() + _DYING_SECONDS
            while time.monotonic() < deadline:
                if dead := self._dead():
                    raise self._unanswered(dead) from error
                time.sleep(0.02)
            raise


class Placed(Workers):
    """Those that a launcher such as torchrun has started, of which this process is one."""

    def __init__(self, place: Place):
        super().__init__(Share(place.rank, place.world), place.local_rank)
        self._place = place

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: object) -> None:
        if error is None:
            # The others wait to be told, even where there was nothing to do.
            self.team()
        super().__exit__(kind, error, traceback)

    def _connect(self) -> Team:
        place, store = self._place, None
        if not torch.distributed.is_initialized():
            # torchrun has a store at that address already, for whoever it has started.
            master = place.rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
            store = find_store(place.address, place.port, place.world, master=master)
        joined = connected(self.share, store, loopback=place.loopback, machine=place.machine)
        return self._connections.enter_context(joined)

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        try:
            yield
        except LipgnnError:
            raise
        except RuntimeError as error:
            text = str(error).strip().splitlines()[0]
            if "onnection" not in text and "gloo" not in text:
                raise
            raise Unanswered(
                f"A worker does not answer any more ({text}); the state of the last checkpoint is kept.",
                "The same command goes on from there, when all workers are started again.",
            ) from error


def workers_of(spec: RunSpec, dataset: TaskData, place: Place | None) -> Workers:
    """The workers of a run.

    Raises
    ------
    UsageError : a launcher has started another number than the run asks for.
    """
    if place is None:
        return Workers() if spec.workers == 1 else Launched(spec, dataset)
    if spec.workers not in (1, place.world):
        raise UsageError(
            f"{place.world} workers were started, and --workers is {spec.workers}.",
            "Leave out --workers under torchrun or srun.",
        )
    return Placed(place)


class LaunchedWorker(Child):
    """A worker that was started here.

    Parameters
    ----------
    told : the line that it reads first.
    """

    def __init__(self, rank: int, told: dict[str, Any]):
        super().__init__("lipgnn.training.distributed.worker", told["threads"])
        self.rank = rank
        self.tell(told)

    def wait_until_ready(self) -> None:
        """Until it has read the data.

        Raises
        ------
        RunFailed : it could not, or is gone.
        """
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            selector.select()
        line = self.process.stdout.readline()
        said = json.loads(line) if line.endswith(b"\n") else None
        if said is None:
            self.process.wait()
            raise RunFailed(f"{self.obituary()} before the first step.", "The same command tries again.")
        if "ready" not in said:
            raise RunFailed(f"Worker {self.rank} cannot begin: {said['message']}", said["hint"])

    def obituary(self) -> str:
        """Why it ended."""
        was = "was " if self.process.wait() < 0 else ""
        who = f"Worker {self.rank} (process {self.process.pid})"
        return ": ".join([f"{who} {was}{self.fate()}", *self.last_words()])
