"""What every worker but the first does: what worker 0 says."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from lipgnn.memory import forget_peak, peak_memory
from lipgnn.runtime import choose_device
from lipgnn.spec.run import RunSpec
from lipgnn.tasks import TaskData
from lipgnn.training.distributed.connect import device_of
from lipgnn.training.distributed.team import Team
from lipgnn.training.divergence import Diverged
from lipgnn.training.saving import hand_over, take_over
from lipgnn.training.state import Training


class Follower:
    """One of the workers, with its part of a run; every method is an order of worker 0.

    Parameters
    ----------
    local_rank : which worker it is on its machine.
    should_stop : whether this process was asked to stop.
    """

    def __init__(self, dataset: TaskData, team: Team, local_rank: int, should_stop: Callable[[], bool]):
        self._dataset, self._team, self._local_rank = dataset, team, local_rank
        self._should_stop = should_stop
        self._training: Training | None = None

    def obey(self) -> dict[str, Any]:
        """Do what worker 0 says until it says that it is over; returns how it ended."""
        orders = {order.__name__: order for order in (self.prepare, self.join, self.restore, self.begin, self.step)}
        orders |= {"ask": self.ask, "save": self.save, "measure": self.measure}
        while (name := (order := self._team.say()).pop("do")) != "end":
            orders[name](**order)
        return order

    def prepare(self, spec: dict[str, Any]) -> None:
        """Make the network and the batches of a run."""
        spec = RunSpec.from_mapping(spec)
        device = device_of(choose_device(spec.device)[0], self._local_rank)
        forget_peak(device)
        self._training = Training(spec, self._dataset, device, share=self._team.share)

    def join(self, recompute_every: int) -> None:
        """Divide the work from here on."""
        self._training.recompute_blocks(recompute_every)
        self._training.join(self._team)

    def restore(self) -> None:
        """Go on from the checkpoint that worker 0 has read."""
        take_over(self._training)

    def begin(self) -> None:
        """Evaluate the weights that the run starts from."""
        with contextlib.suppress(Diverged):
            self._training.begin()

    def step(self) -> None:
        """Train for an epoch."""
        with contextlib.suppress(Diverged):
            self._training.step()

    def ask(self) -> None:
        """Say whether this worker was asked to stop."""
        self._team.any(self._should_stop())

    def measure(self) -> None:
        """Say how much memory this worker had at most."""
        self._team.total([peak_memory(self._training.device)])

    def save(self) -> None:
        """Hand over what only this worker has of the state."""
        hand_over(self._training)
