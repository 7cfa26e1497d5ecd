"""How the weights of a run go from step to step: optimizer, exchanged gradients, learning rate, and their mean."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from lipgnn.spec.run import RunSpec
from lipgnn.tasks.saved import Tensors
from lipgnn.training.optimizer import (
    decays_of,
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


_MB = 8 * 2**20


class Learner:
    """What changes the weights of a network, as a run says.

    Parameters
    ----------
    network : on its device.
    higher_is_better : the direction of the score of the run.
    several : whether there are other workers, with which gradients are exchanged while they are computed.

    Attributes
    ----------
    exchange : what becomes of gradients before a step; None where there is one worker, and nothing is compressed or
        counted.
    mean : what is evaluated, selected and saved in place of the last weights, if anything is.
    """

    def __init__(self, network: DeepGNN, spec: RunSpec, *, higher_is_better: bool, several: bool = False):
        self._network, self._spec, self._several = network, spec, several
        self._decays = decays_of(network, spec)
        self.optimizer = optimizer_of(network, spec)
        counted = several or spec.compress != "none" or spec.optimizer == "memsgd"
        self.exchange = exchange_of(network, spec) if counted else None
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

    def penalty(self, weights: Tensors) -> float:
        """The L2 penalty of weights by name, Σ λ/2 ‖w‖², which training makes small together with the loss."""
        return sum(decay / 2 * weights[name].double().square().sum().item() for name, decay in self._decays.items())

    def traffic(self) -> dict[str, float | None]:
        """What of gradients was sent in all steps so far, and what all of them would be, in MB; see `Exchange`."""
        bits = {"sent_mb": "sent_bits", "dense_mb": "dense_bits"}
        return {name: getattr(self.exchange, of) / _MB if self.exchange else None for name, of in bits.items()}

    def shares(self) -> str | None:
        """Of encoder, layers and decoder, the share of their gradients that was ever sent, numbers with spaces between.

        A dash stands for a part that has no gradient; None where all of every gradient is sent.
        """
        compression = self.exchange.compression if self.exchange else None
        if compression is None or not compression.sparse:
            return None
        found = self.exchange.memory.shares_of(_places(self._network))
        return " ".join("-" if share is None else f"{share:.6g}" for share in found)

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


def _places(network: DeepGNN) -> list[list[str]]:
    """The names of the parameters of the encoder, of every layer, and of the decoder."""
    names = [name for name, _ in network.named_parameters()]
    parts = ["encoder.", *(f"blocks.{layer}." for layer in range(len(network.blocks))), "decoder."]
    return [[name for name in names if name.startswith(part)] for part in parts]


def group_of(tensors: Tensors, group: str) -> Tensors:
    """Those whose name begins with a word and a point, without these."""
    start = f"{group}."
    return {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}
