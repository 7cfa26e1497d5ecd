"""A training that trackers follow: its events reach them on their way, and nothing of theirs reaches the training.

A tracker that is not installed, or fails, is left out from then on, with one sentence that says so. What trackers draw
from torch's generators is given back, and what they print on stdout or log is dropped.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import tempfile
import warnings
from collections.abc import Callable, Collection, Generator, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

import lipgnn
from lipgnn.catalog import TRACKERS, installed_trackers
from lipgnn.errors import Interrupted, UsageError
from lipgnn.network.recompute import Randomness
from lipgnn.results.store import Store
from lipgnn.spec.run import RunSpec
from lipgnn.spec.sources import command_for
from lipgnn.tasks import TaskData, find_task
from lipgnn.trackers.numbers import Numbers, of_earlier_epochs, of_epoch, of_layers, of_result
from lipgnn.trackers.tracker import Tracked, Tracker, tracking_id
from lipgnn.training import loop
from lipgnn.training.distributed.surroundings import find_place
from lipgnn.training.events import Finished, Started
from lipgnn.training.recorders import RECORDERS, Recorder
from lipgnn.training.selection import Epoch

Warn = Callable[[str], None]


def train(
    spec: RunSpec,
    dataset: TaskData,
    store: Store,
    *,
    log: Collection[str] = (),
    warn: Warn = warnings.warn,
    record: Collection[str] = (),
    **orders: Any,
) -> Generator[Started | Epoch | Finished, None, None]:
    """The events of `lipgnn.training.loop.train`, told to trackers as well; it takes the same arguments.

    A run that is logged records its gradients, where it has layers and is of one process.

    Parameters
    ----------
    log : names of TRACKERS.
    warn : called with a sentence for every tracker that is not installed or fails.

    Raises
    ------
    UsageError : a name is none of TRACKERS; and what the other one raises.
    """
    names = installed_trackers(log, warn)
    if not names:
        yield from loop.train(spec, dataset, store, record=record, **orders)
        return
    if "gradients" not in record and _has_gradients(spec, dataset):
        record = (*record, "gradients")
    following = _Following(names, dataset, store, warn)
    events = loop.train(spec, dataset, store, record=record, on_recorded=following.recorded, **orders)
    status = "failed"
    try:
        for event in events:
            following.take(event)
            yield event
    except (Interrupted, GeneratorExit, KeyboardInterrupt):
        status = "interrupted"
        raise
    finally:
        events.close()
        following.end(status)


def _has_gradients(spec: RunSpec, dataset: TaskData) -> bool:
    """Whether the gradients of layers can be recorded: a worker among several sees its own items alone."""
    try:
        RECORDERS["gradients"].check(spec, find_task(dataset.task))
    except UsageError:
        return False
    return spec.workers == 1 and find_place(os.environ) is None


class _Following:
    """The trackers of a training, which may be of several runs, one after the other."""

    def __init__(self, names: Collection[str], dataset: TaskData, store: Store, warn: Warn):
        self._names, self._dataset, self._store, self._warn = list(names), dataset, store, warn
        self._trackers: dict[str, Tracker] = {}
        self._run: Started | None = None
        # What is known of the epoch in work.
        self._epoch = 0
        self._numbers: Numbers = {}

    def take(self, event: Started | Epoch | Finished) -> None:
        """Tell of an event."""
        if isinstance(event, Epoch):
            self._add(event.epoch, of_epoch(asdict(event)))
            return
        if isinstance(event, Finished) and self._run is None and "run_id" in event.result:
            self._warn("Nothing was logged, because this run was done before; it is logged where it is computed anew.")
        # Where another run starts, it starts from one that has come to its result.
        self._finish()
        if isinstance(event, Started):
            self._begin(event)

    def recorded(self, recorder: Recorder) -> None:
        """Tell what was recorded of every layer in an epoch."""
        if self._trackers:
            epoch, arrays = recorder.latest()
            self._add(epoch, of_layers(recorder.record, arrays))

    def end(self, status: str) -> None:
        """The training is over; where a run has not come to its result, `status` says why."""
        self._flush()
        self._end_all(status, {}, None)

    def _begin(self, event: Started) -> None:
        self._run, self._epoch = event, event.resumed_epoch
        run = self._store.run(event.run_id)
        try:
            tracked = self._tracked(event, run.path.absolute())
            earlier = of_earlier_epochs(run, event.resumed_epoch) if event.resumed_epoch else {}
        except Exception as error:
            self._warn(f"Nothing is logged, because {str(run.path)!r} cannot be used ({_reason(error)}).")
            return
        for name in list(self._names):
            with self._guarded(name):
                tracker = self._trackers[name] = TRACKERS[name].load()(tracked)
                for epoch, numbers in earlier.items():
                    if epoch > tracker.last:
                        tracker.log(epoch, numbers)

    def _tracked(self, event: Started, folder: Path) -> Tracked:
        spec = event.spec
        facts = {"command": command_for(spec), "fingerprint": self._dataset.fingerprint, "run_id": event.run_id}
        facts |= {"parameters": event.parameters, "lipgnn": lipgnn.__version__}
        title = f"{spec.model}, {spec.layers} layers, norm {spec.norm}, {spec.dataset}, seed {spec.seed}"
        where = (folder, self._store.root.absolute())
        own = tracking_id(folder, event.run_id)
        return Tracked(own, title, *where, spec.to_dict(), facts, event.resumed_epoch)

    def _finish(self) -> None:
        """The run in work, if there is one, has its result."""
        if self._run is not None and self._trackers:
            self._flush()
            result = self._store.run(self._run.run_id).result()
            with tempfile.TemporaryDirectory(prefix="lipgnn-") as folder:
                self._end_all(result["status"], of_result(result), self._figure(Path(folder)))
        self._run = None

    def _figure(self, folder: Path) -> Path | None:
        from lipgnn.trackers.figure import diagnose_figure

        try:
            with _unnoticed(self._run.device):
                return diagnose_figure(self._store.run(self._run.run_id), self._dataset, self._run.device, folder)
        except Exception as error:
            self._warn(f"The figure of diagnose is not logged, because it could not be drawn ({_reason(error)}).")
            return None

    def _add(self, epoch: int, numbers: Numbers) -> None:
        if epoch != self._epoch:
            self._flush()
            self._epoch = epoch
        self._numbers |= numbers

    def _flush(self) -> None:
        numbers, self._numbers = self._numbers, {}
        for name, tracker in list(self._trackers.items()) if numbers else ():
            with self._guarded(name):
                if self._epoch > tracker.last:
                    tracker.log(self._epoch, numbers)

    def _end_all(self, status: str, numbers: Numbers, figure: Path | None) -> None:
        for name, tracker in list(self._trackers.items()):
            with self._guarded(name):
                tracker.end(status, self._epoch, numbers, figure)
        self._trackers.clear()

    @contextlib.contextmanager
    def _guarded(self, name: str) -> Iterator[None]:
        """What a tracker raises is said, and the tracker is asked for nothing more."""
        try:
            with _unnoticed(self._run.device):
                yield
        except (Exception, SystemExit) as error:
            self._trackers.pop(name, None)
            self._names.remove(name)
            self._warn(f"Nothing more is logged by {name}, which failed ({_reason(error)}); the training goes on.")


@contextlib.contextmanager
def _unnoticed(device: str) -> Iterator[None]:
    """What is drawn from torch's generators is given back; warnings, messages and stdout reach nobody."""
    quiet = logging.root.manager.disable
    with (
        Randomness.now(torch.device(device)).again(),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(quiet)


def _reason(error: BaseException) -> str:
    """The kind of an error, and the first line of what it says."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
