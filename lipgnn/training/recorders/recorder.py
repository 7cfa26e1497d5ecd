"""What all recorders share: numbers of every layer, epoch by epoch, without changing anything in the run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from lipgnn.catalog import MODELS
from lipgnn.errors import UsageError
from lipgnn.results.recordings import RECORDS, write_recording
from lipgnn.spec.run import RunSpec
from lipgnn.tasks import Task
from lipgnn.training.state import Training

if TYPE_CHECKING:
    import numpy as np


class Recorder:
    """Numbers of every layer, epoch by epoch. Where an epoch has several batches, every number is the largest of them.

    Parameters
    ----------
    training : its network is given hooks, which stay.
    earlier : arrays of the epochs before, for a run that is resumed; those of later epochs are dropped.

    Attributes
    ----------
    record : which one of RECORDS, whose arrays it makes.
    sees_items : whether it looks at the items of batches, of which every one of several workers has its own.
    """

    record: str
    sees_items = True

    @classmethod
    def check(cls, spec: RunSpec, task: Task) -> None:
        """Refuse a run that has nothing of this kind to record.

        Raises
        ------
        UsageError : says why.
        """
        if not spec.layers:
            raise UsageError(
                f"--record {cls.record} is of the layers of a network, and this one is a single linear map.",
                "Leave it out, or use --layers 1 or more.",
            )
        if MODELS[spec.model].task is not None:
            raise UsageError(
                f"--record {cls.record} is of the layers of a network, and model {spec.model} has none.",
                "Leave it out, or choose another --model.",
            )

    def __init__(self, training: Training, earlier: Mapping[str, np.ndarray] | None = None):
        self._device = training.device
        # What a run in float64 has may be too large or too small for float32.
        self._dtype = getattr(torch, training.spec.dtype)
        self._epochs: list[int] = []
        self._rows: list[torch.Tensor] = []
        # The largest over the batches of the epoch in work.
        self._largest: torch.Tensor | None = None
        if earlier:
            kept = earlier["epochs"] <= training.epoch
            self._epochs = earlier["epochs"][kept].tolist()
            arrays = [torch.from_numpy(earlier[name][kept]) for name in RECORDS[self.record]]
            self._rows = list(torch.stack(arrays, dim=1).to(self._device))

    def end_epoch(self, epoch: int) -> None:
        """Keep what was seen since the last call as that of `epoch`; nothing is waited for."""
        self._epochs.append(epoch)
        self._rows.append(self._largest.to(self._dtype))
        self._largest = None

    def latest(self) -> tuple[int, dict[str, list[float]]]:
        """The last epoch kept, and its numbers by name, a number a column; the device is waited for."""
        return self._epochs[-1], dict(zip(RECORDS[self.record], self._rows[-1].tolist(), strict=True))

    def save(self, path: Path) -> None:
        """Write all epochs, if there are any: the arrays of the record, (E, columns) each, and `epochs`, (E,)."""
        if self._rows:
            rows = torch.stack(self._rows).cpu()  # (E, names, columns)
            named = {name: rows[:, index].contiguous().numpy() for index, name in enumerate(RECORDS[self.record])}
            write_recording(path, {"epochs": torch.tensor(self._epochs, device="cpu").numpy(), **named})

    def _end_batch(self, batch: torch.Tensor) -> None:
        """Take in the numbers of a batch, (names, columns) in double precision."""
        self._largest = batch if self._largest is None else torch.maximum(self._largest, batch)

    @contextlib.contextmanager
    def _as_selected(self, training: Training) -> Iterator[None]:
        """The network in evaluation, with the weights of the epoch selected; afterwards as it was."""
        network = training.network
        last = {name: value.clone() for name, value in network.state_dict().items()}
        mode = network.training
        network.load_state_dict(training.best_weights)
        network.eval()
        yield
        network.train(mode)
        network.load_state_dict(last)

    def _unseen(self, count: int) -> torch.Tensor:
        return torch.full((count,), torch.nan, dtype=torch.float64, device=self._device)
