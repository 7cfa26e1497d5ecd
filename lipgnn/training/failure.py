"""A run that cannot be finished leaves a note of why."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from lipgnn.errors import RunFailed, UsageError
from lipgnn.results.claims import Held
from lipgnn.results.run import Run
from lipgnn.training.distributed.launch import Workers
from lipgnn.training.state import Training


@contextlib.contextmanager
def noting_failure(run: Run, workers: Workers, training: Training | None = None) -> Iterator[None]:
    """Leave a note in the store of what torch, DGL, the disk, the system or another worker could not do.

    Raises
    ------
    RunFailed : in the place of what was raised.
    """
    try:
        with workers.explained():
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


def _failed(error: Exception, epoch: int) -> RunFailed:
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    hint = "Run with --debug for the traceback."
    if isinstance(error, MemoryError) or "memory" in text.lower():
        hint = "Use --stack reversible or --recompute-every 1, fewer heads, a smaller width or fewer layers."
    return RunFailed(f"The run failed in epoch {epoch + 1}: {text}.", hint)
