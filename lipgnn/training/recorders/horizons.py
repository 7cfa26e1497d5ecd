"""Recording how good walks are by how far they go."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from lipgnn.catalog import WALKERS
from lipgnn.errors import UsageError
from lipgnn.results.recordings import HORIZONS
from lipgnn.spec.run import RunSpec
from lipgnn.tasks import Task
from lipgnn.tasks.walkers import MODEL, by_horizon, rows_of, uniform_kinds
from lipgnn.training.recorders.recorder import Recorder
from lipgnn.training.state import Training

if TYPE_CHECKING:
    import numpy as np


class HorizonRecorder(Recorder):
    """Every measure of walks along edges by their exact number of steps, in the test part, once a run: with the weights
    of the epoch selected, when training is over. The two uniform walks stand beside the model (see
    `lipgnn.tasks.walkers`).

    A run that diverges has nothing.
    """

    record = "horizons"

    @classmethod
    def check(cls, spec: RunSpec, task: Task) -> None:
        if task.outputs != "walks":
            raise UsageError(
                f"--record horizons is of walks along edges, and data set {spec.dataset!r} has none.", "Leave it out."
            )

    def __init__(self, training: Training, earlier: Mapping[str, np.ndarray] | None = None):
        super().__init__(training, earlier)
        self._training = training

    def end_epoch(self, epoch: int) -> None:
        """Epochs on the way have nothing."""

    def save(self, path: Path) -> None:
        best = self._training.best
        if self._training.finished and best is not None and self._epochs != [best.epoch]:
            self._epochs, self._rows = [], []
            with self._as_selected(self._training):
                self._end_batch(self._measured())
            super().end_epoch(best.epoch)
        super().save(path)

    def _measured(self) -> torch.Tensor:
        """(names, walks, columns), a column a horizon; NaN where there is no window, or no such walk."""
        training = self._training
        kinds = {MODEL: training.spec.walk, **uniform_kinds(training.dataset)}
        found = {name: by_horizon(rows) for name, rows in rows_of(training.batches, kinds, training.network).items()}
        columns = 1 + max(max(walks) for walks in found.values())
        numbers = torch.full((len(HORIZONS), len(WALKERS), columns), math.nan, dtype=torch.float64)
        for place, name in enumerate(WALKERS):
            for horizon, measures in found.get(name, {}).items():
                row = [measures[measure] for measure in HORIZONS]
                numbers[:, place, horizon] = torch.tensor([math.nan if value is None else value for value in row])
        return numbers.to(self._device)
