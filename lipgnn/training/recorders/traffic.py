"""Recording what training makes small beside what its gradients cost to send."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from lipgnn.spec.run import RunSpec
from lipgnn.tasks import Task
from lipgnn.training.recorders.recorder import Recorder
from lipgnn.training.state import Training

if TYPE_CHECKING:
    import numpy as np


class TrafficRecorder(Recorder):
    """The objective, epoch by epoch, and how many MB were sent up to then; NaN in epochs without an evaluation.

    The objective is the training loss and the L2 penalty of the weights that are evaluated: with --optimizer memsgd the
    weighted mean of all steps.
    """

    record = "traffic"
    sees_items = False

    @classmethod
    def check(cls, spec: RunSpec, task: Task) -> None:
        """All runs have this."""

    def __init__(self, training: Training, earlier: Mapping[str, np.ndarray] | None = None):
        super().__init__(training, earlier)
        self._training = training

    def end_epoch(self, epoch: int) -> None:
        training = self._training
        last = training.last
        objective = math.nan
        if last is not None and last.epoch == epoch:
            with training.learner.evaluated():
                objective = last.train_loss + training.learner.penalty(training.network.state_dict())
        sent = training.learner.traffic()["sent_mb"]
        numbers = [objective, math.nan if sent is None else sent]
        self._end_batch(torch.tensor(numbers, dtype=torch.float64, device=self._device)[:, None])
        super().end_epoch(epoch)
