"""How the weights of a run go from step to step: optimizer, exchanged gradients, learning rate, and their mean."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from lipgnn.spec.run import RunSpec
from lipgnn.tasks.saved import Tensors
from lipgnn.training.optimizer import (
    exchange_of,
    goes_by_steps,
    mean_of,
    optimizer_of,
    schedule,
    shift_of,
    watches,
    without_infinities,
)

if TYPE_CHECKING:
    from lipgnn.network.deep import DeepGNN


class Learner:
    """What changes the weights of a network, as a run says.

    Parameters
    ----------
    network : on its device.
    higher_is_better : the direction of the score of the run.
    several : whether there are other workers, with which gradients are exchanged while they are computed.

    Attributes
    ----------
    exchange : what becomes of gradients before a step; None where there is one worker and nothing is compressed.
    mean : what is evaluated, selected and saved in place of the last weights, if anything is.
    """

    def __init__(self, network: DeepGNN, spec: RunSpec, *, higher_is_better: bool, several: bool = False):
        self._spec, self._several = spec, several
        self.optimizer = optimizer_of(network, spec)
        self.exchange = exchange_of(network, spec) if several or spec.compress != "none" else None
        self.mean = mean_of(network, spec)
        shift = shift_of(network, spec)
        self.scheduler = schedule(spec, self.optimizer, higher_is_better=higher_is_better, shift=shift)

    @property
    def rate(self) -> float:
        """The learning rate of the next step."""
        return self.optimizer.param_groups[0]["lr"]

    def begin_step(self) -> None:
        """Before gradients are computed."""
        self.optimizer.zero_grad()
        if self.exchange:
            self.exchange.rate = self.rate

    def end_backward(self) -> None:
        """When gradients are there; those of several workers are exchanged already."""
        if self.exchange and not self._several:
            self.exchange.apply()

    def step(self) -> None:
        """Change the weights."""
        self.optimizer.step()
        if self.mean:
            self.mean.add()
        if goes_by_steps(self._spec):
            self.scheduler.step()

    def end_epoch(self, found: dict[str, float] | None) -> None:
        """Advance the schedule after an epoch, or after an evaluation where it watches what that finds."""
        if self.scheduler is None or goes_by_steps(self._spec):
            return
        watched = watches(self._spec)
        if not watched:
            self.scheduler.step()
        elif found:
            self.scheduler.step(found[watched])

    def evaluated(self) -> contextlib.AbstractContextManager[None]:
        """Let the network have the weights meanwhile that are evaluated, selected and saved."""
        return self.mean.in_place() if self.mean else contextlib.nullcontext()

    def tensors(self) -> Tensors:
        """What a resumed run goes on from, by name; with `state` it is all."""
        states = self.optimizer.state_dict()["state"].items()
        tensors = {f"optimizer.{index}.{name}": tensor for index, own in states for name, tensor in own.items()}
        for group, part in (("exchange", self.exchange), ("mean", self.mean)):
            tensors |= {f"{group}.{name}": tensor for name, tensor in part.tensors().items()} if part else {}
        # Torch's SGD without momentum has an entry for its momentum, which is nothing.
        return {name: tensor for name, tensor in tensors.items() if tensor is not None}

    def state(self) -> dict[str, Any]:
        """All but the tensors."""
        return {
            "lr": self.rate,
            "scheduler": without_infinities(self.scheduler.state_dict()) if self.scheduler else None,
        }

    def load(self, tensors: Tensors, state: dict[str, Any]) -> None:
        """Go on from what `tensors` and `state` gave.

        Raises
        ------
        ValueError, KeyError, TypeError, RuntimeError : these are not of this run.
        """
        optimizer = self.optimizer.state_dict()
        for name, tensor in group_of(tensors, "optimizer").items():
            index, _, key = name.partition(".")
            optimizer["state"].setdefault(int(index), {})[key] = tensor
        for group in optimizer["param_groups"]:
            group["lr"] = state["lr"]
        self.optimizer.load_state_dict(optimizer)
        for group, part in (("exchange", self.exchange), ("mean", self.mean)):
            # One process that compresses nothing has no exchange; others may have gone on from there.
            if part and (own := group_of(tensors, group)):
                part.load(own)
        if self.scheduler:
            self.scheduler.load_state_dict(state["scheduler"])


def group_of(tensors: Tensors, group: str) -> Tensors:
    """Those whose name begins with a word and a point, without these."""
    start = f"{group}."
    return {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}
