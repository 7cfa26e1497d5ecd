"""The weighted mean of all steps of a run, which the theory of Mem-SGD is about."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import nn

from lipgnn.tasks.saved import Tensors


class WeightedMean:
    """x̄ = Σ_t w_t x_t / Σ_t w_t with w_t = (t + a)², of what the weights are after step t, t from 0 on.

    Later steps count more. Reference: Stich, Cordonnier & Jaggi, "Sparsified SGD with Memory", NeurIPS 2018, whose
    released code takes the weights after a step as well, and the running form

        x̄ ← x̄ + f (x_t − x̄),   f = w_t / Σ_{i≤t} w_i = 6 (t + a)² / ((1 + t) (6a² + t + 6at + 2t²))

    Buffers, such as those of BatchNorm, are no part of it.

    Parameters
    ----------
    network : whose weights are meant.
    shift : a, more than 0.
    """

    def __init__(self, network: nn.Module, shift: float):
        self._parameters = dict(network.named_parameters())
        self._shift, self._steps = shift, 0
        self._mean = {name: parameter.detach().clone() for name, parameter in self._parameters.items()}

    @torch.no_grad()
    def add(self) -> None:
        """Take the weights in as they are now, after a step."""
        t, a = self._steps, self._shift
        factor = 6 * (t + a) ** 2 / ((1 + t) * (6 * a * a + t + 6 * a * t + 2 * t * t))
        for name, parameter in self._parameters.items():
            self._mean[name].lerp_(parameter, factor)
        self._steps += 1

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Let the network have the mean for its weights meanwhile."""
        kept = {name: parameter.data for name, parameter in self._parameters.items()}
        try:
            for name, parameter in self._parameters.items():
                parameter.data = self._mean[name]
            yield
        finally:
            for name, parameter in self._parameters.items():
                parameter.data = kept[name]

    def tensors(self) -> Tensors:
        """What a resumed run goes on from, by name."""
        steps = torch.tensor(self._steps, dtype=torch.int64, device="cpu")
        return {"steps": steps, **{f"of.{name}": tensor for name, tensor in self._mean.items()}}

    def load(self, tensors: Tensors) -> None:
        """Go on from what `tensors` gave.

        Raises
        ------
        KeyError, RuntimeError : it is of another network.
        """
        self._steps = int(tensors["steps"])
        for name, tensor in self._mean.items():
            tensor.copy_(tensors[f"of.{name}"])
