"""One training run as a generator of events; nothing is printed here."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
from collections.abc import Callable, Collection, Generator, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from lipgnn.catalog import check_name
from lipgnn.errors import DataError, Interrupted, RunFailed, UsageError
from lipgnn.kernels import choose_for
from lipgnn.memory import forget_peak, free_memory, memory_returned
from lipgnn.results.recordings import RECORDS, read_recording
from lipgnn.results.run import Run
from lipgnn.results.store import Store
from lipgnn.runtime import choose_device
from lipgnn.spec.run import RunSpec
from lipgnn.tasks import TaskData, find_task
from lipgnn.tasks.measured import measured
from lipgnn.tasks.saved import Tensors, save_model
from lipgnn.training.checkpoint import CheckpointFile
from lipgnn.training.distributed.caution import own_statistics
from lipgnn.training.distributed.follower import Follower
from lipgnn.training.distributed.launch import Workers, workers_of
from lipgnn.training.distributed.surroundings import find_place
from lipgnn.training.divergence import Diverged
from lipgnn.training.events import Finished, Started
from lipgnn.training.failure import noting_failure
from lipgnn.training.lengthen import lengthen
from lipgnn.training.memory import MemoryPlan, check_weights, estimate, plan_memory
from lipgnn.training.recorders import RECORDERS, Recorder
from lipgnn.training.row import row_of
from lipgnn.training.saving import pass_on, restore, save
from lipgnn.training.selection import Epoch
from lipgnn.training.start import starting_weights
from lipgnn.training.state import Training


def train(
    spec: RunSpec,
    dataset: TaskData,
    store: Store,
    *,
    force: bool = False,
    record: Collection[str] = (),
    model: Path | None = None,
    lengthened: bool = False,
    save_every: int = 10,
    should_stop: Callable[[], bool] = lambda: False,
    on_recorded: Callable[[Recorder], None] = lambda recorder: None,
    update_csv: bool = True,
) -> Iterator[Started | Epoch | Finished]:
    """Compute a run, or go on with it, or give its stored result.

    Where a launcher such as torchrun has started several processes, each calls this, and only the first has a store,
    events on the way and a result; the others end with how that one ended.

    Parameters
    ----------
    force : forget what the store has of this run.
    record : names of RECORDS: what to record on the way. A run that has begun to record goes on with it in any case.
    model : the file of the model that the run starts from, if `spec.start` names one.
    lengthened : go on from a run of the store that differs in nothing but fewer epochs (see `lengthen`).
    save_every : epochs between checkpoints.
    should_stop : asked after every epoch; True ends the run with a checkpoint.
    on_recorded : called with every recorder after every epoch; it raises nothing.
    update_csv : rebuild results.csv at the end; a sweep does that once for many runs.

    Raises
    ------
    DataError : the split lacks nodes to train on, to select by or to test on, or of one kind, where both are ranked.
    UsageError : the metric is none of the data set, or the run cannot be divided among workers.
    Interrupted : after `should_stop`; the same call goes on from there.
    RunFailed : the run could not be computed; the reason is in failure.json.
    """
    place = find_place(os.environ)
    with workers_of(spec, dataset, place) as workers:
        if place:
            spec = spec.with_values(workers=place.world)
        for name in record:
            check_name("thing to record", name, RECORDS)
            RECORDERS[name].check(spec, find_task(dataset.task))
            _check_alone(RECORDERS[name], spec)
        for part, mask in dataset.split.parts.items():
            if not mask.any():
                items = find_task(dataset.task).items
                raise DataError(
                    f"Split {spec.split!r} of {dataset.name!r} has no {part} {items}.", "Choose another --split."
                )
        if workers.share.rank:
            with workers.explained():
                yield Finished(Follower(dataset, workers.team(), workers.local_rank, should_stop).obey())
            return
        orders = _Orders(record, model, save_every, should_stop, on_recorded, lengthened and not force)
        result = yield from _computed(spec, dataset, store, workers, orders, force=force)
        workers.exit_code = 0 if result["status"] == "done" else RunFailed.exit_code
    if update_csv:
        # Also for a stored result: whoever finished it may have been stopped before this line.
        store.rebuild_csv()
    yield Finished(result)


@dataclass(frozen=True)
class _Orders:
    """What else is asked for of a run, see `train`; and what is said when it starts, see `lengthen`."""

    record: Collection[str]
    model: Path | None
    save_every: int
    should_stop: Callable[[], bool]
    on_recorded: Callable[[Recorder], None]
    lengthened: bool
    said: str | None = None


def _computed(
    spec: RunSpec, dataset: TaskData, store: Store, workers: Workers, orders: _Orders, *, force: bool = False
) -> Generator[Started | Epoch, None, dict[str, Any]]:
    """The result of a run, computed by its workers unless it is stored."""
    spec = measured(spec, dataset)
    run = store.run(spec.run_id(dataset.fingerprint))
    with run.claim():
        if force:
            run.clear()
        result = run.result()
        if result is not None:
            # Whoever finished it may have been stopped before it did this.
            run.forget_failure()
            return result
        workers.begin()
        weights, begun = None, CheckpointFile(run.path).state_path
        if orders.lengthened and not begun.exists():
            with noting_failure(run, workers):
                said = lengthen(spec, dataset.fingerprint, run, store, orders.record)
            orders = dataclasses.replace(orders, said=said)
        if not begun.exists():
            alike = dataclasses.replace(orders, record=(), model=None, said=None)
            before = functools.partial(_computed, dataset=dataset, store=store, workers=workers, orders=alike)
            with noting_failure(run, workers):
                given = (orders.model, before, orders.should_stop)
                weights = yield from starting_weights(spec, dataset, store, *given)
        return (yield from _trained(spec, dataset, run, weights, workers, orders))


def _trained(
    spec: RunSpec, dataset: TaskData, run: Run, weights: Tensors | None, workers: Workers, orders: _Orders
) -> Generator[Started | Epoch, None, dict[str, Any]]:
    """The result of a run that is claimed and has none, from its weights or its checkpoint on."""
    device, reason = choose_device(spec.device)
    kernel, kernel_reason = choose_for(spec.norm, spec.kernel, device)
    spec = spec.computed(device=str(device), kernel=kernel)
    checkpoint = CheckpointFile(run.path, run.check_claim)
    run.begin(spec, dataset.fingerprint)
    # A process may compute several runs, one after the other.
    forget_peak(device)
    training, memory = _prepared(spec, dataset, device, run, weights, workers)
    _restore(training, checkpoint, run, workers)
    with noting_failure(run, workers, training):
        run.rewind_log(training.epoch if training.last else -1)
    recorders = _recorders(training, run, workers, orders.record)
    yield Started(
        *(run.id, training.spec),
        *(str(device), reason, kernel, kernel_reason),
        *(training.parameters, memory, training.epoch),
        *(torch.get_num_threads(), training.earlier_threads, training.earlier_workers),
        *(own_statistics(training.spec, training.task), orders.said),
    )
    # Of DGL's many passing tensors the allocator holds most, which a big run should not.
    frugal = memory.frugal or (memory.notable and kernel == "dgl")
    with memory_returned() if frugal else contextlib.nullcontext(), noting_failure(run, workers, training):
        diverged = yield from _epochs(training, run, checkpoint, recorders, orders)
    with noting_failure(run, workers, training):
        result = row_of(training, run, dataset.fingerprint, diverged)
        run.finish(result)
    return result


def _prepared(
    spec: RunSpec, dataset: TaskData, device: torch.device, run: Run, weights: Tensors | None, workers: Workers
) -> tuple[Training, MemoryPlan]:
    """The state before the first epoch, and how many activations are kept, from a trial of two blocks."""
    with noting_failure(run, workers):
        team = workers.team()
        make = functools.partial(find_task(dataset.task).network, spec, *dataset.shape)
        check_weights(make, free_memory(device) // team.machine)
        team.order("prepare", spec=spec.to_dict())
        training = Training(spec, dataset, device, weights, share=team.share)
        expected = estimate(training.network, *training.example())
        memory = plan_memory(expected, spec.recompute_every, free_memory(device) // team.machine)
        team.order("join", recompute_every=memory.recompute_every)
        training.recompute_blocks(memory.recompute_every)
        training.join(team)
    return training, memory


def _restore(training: Training, checkpoint: CheckpointFile, run: Run, workers: Workers) -> None:
    """Go on from the checkpoint, if there is one."""
    if saved := checkpoint.read(training.spec):
        with noting_failure(run, workers):
            pass_on(training, *saved)
        try:
            restore(training, *saved)
        except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            text = str(error).strip().splitlines() or [""]
            raise checkpoint.damaged(f"it does not fit the run ({type(error).__name__}: {text[0]})") from error


def _check_alone(kind: type[Recorder], spec: RunSpec) -> None:
    if spec.workers > 1 and kind.sees_items:
        raise UsageError(
            f"--record {kind.record} is of one process, and each of {spec.workers} workers sees a part of a batch.",
            "Use --workers 1, or leave it out.",
        )


def _recorders(training: Training, run: Run, workers: Workers, record: Collection[str]) -> list[Recorder]:
    """What records this run, if anything does; made after the trial of memory, which is no epoch.

    Raises
    ------
    UsageError : there are several workers, of which each sees its own items alone.
    """
    recorders = []
    for kind in RECORDERS.values():
        path = run.recording_path(kind.record)
        earlier = read_recording(path) if path.exists() else None
        if earlier or kind.record in record:
            _check_alone(kind, training.spec)
            with noting_failure(run, workers, training):
                recorders.append(kind(training, earlier))
    return recorders


def _epochs(
    training: Training, run: Run, checkpoint: CheckpointFile, recorders: list[Recorder], orders: _Orders
) -> Generator[Epoch, None, str | None]:
    """Train to the end, saving on the way and at the end; returns where it diverged, if it did."""
    diverged, team = None, training.team
    try:
        if training.given and training.last is None:
            team.order("begin")
            line = training.begin()
            run.append_log(asdict(line))
            yield line
        while not training.finished:
            team.order("step")
            line = training.step()
            if line:
                run.append_log(asdict(line))
            for recorder in recorders:
                recorder.end_epoch(training.epoch)
                orders.on_recorded(recorder)
            if line:
                yield line
            if training.finished:
                break
            team.order("ask")
            if team.any(orders.should_stop()):
                _save(training, run, checkpoint, recorders, model_too=True)
                raise Interrupted(f"Stopped after epoch {training.epoch}; the state is saved.")
            if training.epoch % orders.save_every == 0:
                _save(training, run, checkpoint, recorders)
    except Diverged as error:
        diverged = str(error)
        run.check_claim()
        save_model(run.last_good_path, training.last_good(), spec=training.spec, dataset=training.dataset)
    _save(training, run, checkpoint, recorders, model_too=True)
    return diverged


def _save(
    training: Training,
    run: Run,
    checkpoint: CheckpointFile,
    recorders: list[Recorder],
    *,
    model_too: bool = False,
) -> None:
    run.sync_log()
    for recorder in recorders:
        run.check_claim()
        recorder.save(run.recording_path(recorder.record))
    training.team.order("save")
    save(training, checkpoint)
    if model_too and training.best:
        run.check_claim()
        training.save_best(run.best_path)
