"""Recording how far a network looks before and after its training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from lipgnn.errors import UsageError
from lipgnn.measures.reach import look_far
from lipgnn.spec.run import RunSpec
from lipgnn.tasks import Task
from lipgnn.training.recorders.recorder import Recorder
from lipgnn.training.state import Training

if TYPE_CHECKING:
    import numpy as np

# Nodes whose outputs are looked at, drawn with a fixed seed; each takes a way back for every class.
TARGETS = 16


class ReachRecorder(Recorder):
    """The share of each distance in a node's output (see `lipgnn.measures.reach`), twice a run: before the first step,
    which is epoch 0, and with the weights of the epoch selected, once training is over.

    A run that diverges has the first alone.
    """

    record = "reach"

    @classmethod
    def check(cls, spec: RunSpec, task: Task) -> None:
        if task.outputs != "nodes":
            raise UsageError(
                f"--record reach is of the outputs of nodes, and those of data set {spec.dataset!r} are of "
                f"{task.outputs}.",
                "Leave it out.",
            )

    def __init__(self, training: Training, earlier: Mapping[str, np.ndarray] | None = None):
        super().__init__(training, earlier)
        self._training = training
        if training.epoch == 0 and not self._epochs:
            self._measure(0)

    def end_epoch(self, epoch: int) -> None:
        """Epochs on the way have nothing."""

    def save(self, path: Path) -> None:
        best = self._training.best
        if self._training.finished and best is not None and self._epochs[-1:] != [best.epoch]:
            with self._as_selected(self._training):
                self._measure(best.epoch)
        super().save(path)

    def _measure(self, epoch: int) -> None:
        found = look_far(self._training.network, self._training.batches.whole(), TARGETS)
        self._end_batch(torch.tensor([[*found.shares, found.beyond]], dtype=torch.float64, device=self._device))
        super().end_epoch(epoch)
