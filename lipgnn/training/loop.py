"""One training run as a generator of events; nothing is printed here."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Collection, Generator, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

import lipgnn
from lipgnn.catalog import MEASURES, MODELS, NO_NORM, check_name, fused_norms, parse_norm
from lipgnn.errors import DataError, Interrupted, RunFailed, UsageError
from lipgnn.kernels import choose
from lipgnn.memory import forget_peak, free_memory, memory_returned, peak_memory
from lipgnn.results.claims import Held
from lipgnn.results.recordings import RECORDS, read_recording
from lipgnn.results.run import Run, epochs_to_90
from lipgnn.results.store import Store
from lipgnn.runtime import choose_device
from lipgnn.spec.run import RunSpec
from lipgnn.spec.sources import command_for
from lipgnn.tasks import TaskData, find_task
from lipgnn.tasks.measured import measured
from lipgnn.tasks.saved import Tensors
from lipgnn.training.checkpoint import CheckpointFile
from lipgnn.training.divergence import Diverged
from lipgnn.training.events import Finished, Started
from lipgnn.training.memory import MemoryPlan, check_weights, estimate, plan_memory
from lipgnn.training.recorders import RECORDERS, Recorder
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
    save_every: int = 10,
    should_stop: Callable[[], bool] = lambda: False,
    update_csv: bool = True,
) -> Iterator[Started | Epoch | Finished]:
    """Compute a run, or go on with it, or give its stored result.

    Parameters
    ----------
    force : forget what the store has of this run.
    record : names of RECORDS: what to record on the way. A run that has begun to record goes on with it in any case.
    model : the file of the model that the run starts from, if `spec.start` names one.
    save_every : epochs between checkpoints.
    should_stop : asked after every epoch; True ends the run with a checkpoint.
    update_csv : rebuild results.csv at the end; a sweep does that once for many runs.

    Raises
    ------
    DataError : the split lacks nodes to train on, to select by or to test on, or of one kind, where both are ranked.
    UsageError : the metric is none of the data set.
    Interrupted : after `should_stop`; the same call goes on from there.
    RunFailed : the run could not be computed; the reason is in failure.json.
    """
    for name in record:
        check_name("thing to record", name, RECORDS)
        RECORDERS[name].check(spec, find_task(dataset.task))
    for part, mask in dataset.split.parts.items():
        if not mask.any():
            items = find_task(dataset.task).items
            raise DataError(
                f"Split {spec.split!r} of {dataset.name!r} has no {part} {items}.", "Choose another --split."
            )
    spec = measured(spec, dataset)
    run = store.run(spec.run_id(dataset.fingerprint))
    device, reason = choose_device(spec.device)
    with run.claim():
        if force:
            run.clear()
        result = run.result()
        if result is None:
            kernel, kernel_reason = _choose_kernel(spec, device)
            spec = spec.computed(device=str(device), kernel=kernel)
            checkpoint = CheckpointFile(run.path, run.check_claim)
            weights = None
            if not checkpoint.state_path.exists():
                how = {"save_every": save_every, "should_stop": should_stop, "update_csv": False}
                before = functools.partial(train, dataset=dataset, store=store, **how)
                with _noting_failure(run):
                    weights = yield from starting_weights(spec, dataset, store, model, before, should_stop)
            run.begin(spec, dataset.fingerprint)
            # A process may compute several runs, one after the other.
            forget_peak(device)
            training, memory = _prepared(spec, dataset, device, run, weights)
            _restore(training, checkpoint)
            with _noting_failure(run, training):
                run.rewind_log(training.epoch if training.last else -1)
            recorders = _recorders(training, run, record)
            yield Started(
                *(run.id, training.spec),
                *(str(device), reason, kernel, kernel_reason),
                *(training.parameters, memory, training.epoch),
                *(torch.get_num_threads(), training.earlier_threads),
            )
            # Of DGL's many passing tensors the allocator holds most, which a big run should not.
            frugal = memory.frugal or (memory.notable and kernel == "dgl")
            with memory_returned() if frugal else contextlib.nullcontext():
                diverged = yield from _epochs(training, run, checkpoint, recorders, save_every, should_stop)
            result = _result(training, run, dataset.fingerprint, diverged)
            with _noting_failure(run, training):
                run.finish(result)
        else:
            # Whoever finished it may have been stopped before it did this.
            run.forget_failure()
    if update_csv:
        # Also for a stored result: whoever finished it may have been stopped before this line.
        store.rebuild_csv()
    yield Finished(result)


def _choose_kernel(spec: RunSpec, device: torch.device) -> tuple[str, str]:
    if MODELS[spec.model].attention is None:
        return "dgl", f"{spec.model} has no attention"
    score = parse_norm(spec.norm)[0] or NO_NORM
    if spec.kernel == "auto" and score not in fused_norms():
        return "dgl", f"the only one that knows {score}"
    return choose(spec.kernel, device)


def _prepared(
    spec: RunSpec, dataset: TaskData, device: torch.device, run: Run, weights: Tensors | None
) -> tuple[Training, MemoryPlan]:
    """The state before the first epoch, and how many activations are kept, from a trial of two blocks."""
    with _noting_failure(run):
        make = functools.partial(find_task(dataset.task).network, spec, *dataset.shape)
        check_weights(make, free_memory(device))
        training = Training(spec, dataset, device, weights)
        expected = estimate(training.network, *training.example())
    memory = plan_memory(expected, spec.recompute_every, free_memory(device))
    training.recompute_blocks(memory.recompute_every)
    return training, memory


def _restore(training: Training, checkpoint: CheckpointFile) -> None:
    """Go on from the checkpoint, if there is one."""
    if saved := checkpoint.read(training.spec):
        try:
            training.restore(*saved)
        except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            text = str(error).strip().splitlines() or [""]
            raise checkpoint.damaged(f"it does not fit the run ({type(error).__name__}: {text[0]})") from error


def _recorders(training: Training, run: Run, record: Collection[str]) -> list[Recorder]:
    """What records this run, if anything does; made after the trial of memory, which is no epoch."""
    recorders = []
    for kind in RECORDERS.values():
        path = run.recording_path(kind.record)
        earlier = read_recording(path) if path.exists() else None
        if earlier or kind.record in record:
            with _noting_failure(run, training):
                recorders.append(kind(training, earlier))
    return recorders


@contextlib.contextmanager
def _noting_failure(run: Run, training: Training | None = None) -> Iterator[None]:
    """Leave a note in the store of what torch, DGL, the disk or the system could not do."""
    try:
        yield
    except Held:
        # The folder is another's by now.
        raise
    except (RuntimeError, MemoryError, RunFailed) as error:
        epoch = training.epoch if training else 0
        failed = error if isinstance(error, RunFailed) else _failed(error, epoch)
        # A disk too full for what was to be written may be too full for the note as well.
        with contextlib.suppress(RunFailed, UsageError):
            run.fail(failed.message, epoch)
        if failed is error:
            raise
        raise failed from error


def _epochs(
    training: Training,
    run: Run,
    checkpoint: CheckpointFile,
    recorders: list[Recorder],
    save_every: int,
    should_stop: Callable[[], bool],
) -> Generator[Epoch, None, str | None]:
    """Train to the end, saving on the way and at the end; returns where it diverged, if it did."""
    diverged = None
    with _noting_failure(run, training):
        try:
            if training.given and training.last is None:
                line = training.begin()
                run.append_log(asdict(line))
                yield line
            while not training.finished:
                line = training.step()
                if line:
                    run.append_log(asdict(line))
                for recorder in recorders:
                    recorder.end_epoch(training.epoch)
                if line:
                    yield line
                if training.finished:
                    break
                if should_stop():
                    _save(training, run, checkpoint, recorders, model_too=True)
                    raise Interrupted(f"Stopped after epoch {training.epoch}; the state is saved.")
                if training.epoch % save_every == 0:
                    _save(training, run, checkpoint, recorders)
        except Diverged as error:
            diverged = str(error)
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
    training.save(checkpoint)
    if model_too and training.best:
        run.check_claim()
        training.save_best(run.best_path)


def _result(training: Training, run: Run, fingerprint: str, diverged: str | None) -> dict[str, Any]:
    """The row of a run in results.csv, and where it diverged if it did."""
    spec, best, last = training.spec, training.best, training.last
    selected = ("train_score", "val_score", "test_score", "train_loss", "val_loss")
    return {
        **spec.to_dict(),
        "run_id": run.id,
        "status": "diverged" if diverged else "done",
        "epochs_run": training.epoch,
        "best_epoch": best.epoch if best else None,
        "epochs_to_90": epochs_to_90(run.read_log()),
        **{name: getattr(best, name, None) for name in selected},
        "last_test_score": last.test_score if last else None,
        "max_grad_norm": training.max_grad_norm,
        "parameters": training.parameters,
        "seconds": training.seconds,
        "seconds_per_epoch": training.seconds / training.epoch if training.epoch else None,
        "peak_memory_mb": round(peak_memory(training.device) / 2**20, 1),
        "threads": training.threads,
        "fingerprint": fingerprint,
        "version": lipgnn.__version__,
        "command": command_for(spec),
        "objective": training.objective,
        **training.learner.traffic(),
        **dict.fromkeys(MEASURES),
        **training.measured_at_the_end(),
        "diverged_at": diverged,
        "sent_shares": training.learner.shares(),
    }


def _failed(error: Exception, epoch: int) -> RunFailed:
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    hint = "Run with --debug for the traceback."
    if isinstance(error, MemoryError) or "memory" in text.lower():
        hint = "Use --stack reversible or --recompute-every 1, fewer heads, a smaller width or fewer layers."
    return RunFailed(f"The run failed in epoch {epoch + 1}: {text}.", hint)
