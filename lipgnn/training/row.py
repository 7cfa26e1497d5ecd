"""The row of a run in results.csv."""

from __future__ import annotations

from typing import Any

import lipgnn
from lipgnn.catalog import MEASURES
from lipgnn.memory import peak_memory
from lipgnn.results.run import Run, epochs_to_90
from lipgnn.spec.sources import command_for
from lipgnn.training.state import Training


def row_of(training: Training, run: Run, fingerprint: str, diverged: str | None) -> dict[str, Any]:
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
        "peak_memory_mb": round(peak_of_all(training) / 2**20, 1),
        "threads": training.threads,
        "fingerprint": fingerprint,
        "version": lipgnn.__version__,
        "command": command_for(spec),
        "objective": training.objective,
        **training.learner.traffic(),
        **dict.fromkeys(MEASURES),
        **training.measured_at_the_end(),
        "diverged_at": diverged,
        "diverged_untrained": diverged is not None and not (training.epoch or training.stepped),
        "sent_shares": training.learner.shares(),
    }


def peak_of_all(training: Training) -> float:
    """The highest memory of this process, in bytes, and of those of all workers together where there are several."""
    training.team.order("measure")
    return training.team.total([peak_memory(training.device)])[0]
