"""What was left out of gradients, parameter by parameter: never by bucket, because torch groups parameters anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import nn

from lipgnn.errors import UsageError
from lipgnn.tasks.saved import Tensors

COUNTS = "counts"


class Piece(NamedTuple):
    """Where the gradient of a parameter is in a flat buffer."""

    name: str
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


def pieces_of(sizes: Iterable[tuple[str, int]]) -> list[Piece]:
    """Where parameters of these names and sizes are that follow each other in a buffer."""
    pieces, start = [], 0
    for name, size in sizes:
        pieces.append(Piece(name, start, start + size))
        start += size
    return pieces


class Memory:
    """What one worker has not sent yet.

    Parameters
    ----------
    parameters : by name.
    keeps : whether what is not sent is kept; else it is forgotten.
    """

    def __init__(self, parameters: Mapping[str, nn.Parameter], *, keeps: bool):
        flats = {name: parameter.detach().reshape(-1) for name, parameter in parameters.items()}
        self._kept = {name: torch.zeros_like(flat) for name, flat in flats.items()} if keeps else {}
        self._entered, self._sent = (
            {name: flat.new_zeros((), dtype=torch.float64) for name, flat in flats.items()} for _ in range(2)
        )

    def recall(self, pieces: Sequence[Piece], entering: torch.Tensor) -> torch.Tensor:
        """m + η g: what is kept of some parameters plus what comes in, (d,), in the order of the pieces."""
        _add_sizes(self._entered, pieces, entering)
        return entering + torch.cat([self._kept[piece.name] for piece in pieces]) if self._kept else entering

    def keep(self, pieces: Sequence[Piece], asked: torch.Tensor, sent: torch.Tensor) -> None:
        """m ← u − c, of what was asked to be sent and what was, (d,) each."""
        _add_sizes(self._sent, pieces, sent)
        if self._kept:
            for piece, left in zip(pieces, _split(asked - sent, pieces), strict=True):
                self._kept[piece.name].copy_(left)

    def of(self, name: str) -> torch.Tensor:
        """What is kept of a parameter, flat, where anything is."""
        return self._kept[name]

    def shares_of(self, groups: Iterable[Iterable[str]]) -> list[float | None]:
        """Of groups of parameters, the share of the sizes of their gradients that was ever sent; None where none came.

        Σ_t |c_t| / Σ_t |η_t g_t|, between 0 and 1 for sparse compression: what is sent of a coordinate is a sum of what
        entered. A layer with 0 is never changed.
        """
        shares = []
        for group in groups:
            names = list(group)
            entered = sum(self._entered[name].item() for name in names)
            shares.append(sum(self._sent[name].item() for name in names) / entered if entered else None)
        return shares

    def tensors(self) -> Tensors:
        """All of this by name; the tensors themselves, no copies."""
        groups = {"memory": self._kept, "entered": self._entered, "sent": self._sent}
        return {f"{group}.{name}": tensor for group, own in groups.items() for name, tensor in own.items()}


def hand_on(memories: Sequence[Tensors], workers: int) -> list[Tensors]:
    """What W workers kept (see `Exchange.tensors`), for another number of workers.

    What the weights still have to get is the mean of all memories, because what is sent is averaged: every new worker
    takes on that mean, the sum over W, and with it the mean stays what it was [D]. The counts stay, and sizes are
    averaged.

    Raises
    ------
    UsageError : nobody kept anything, or nobody is there to take it.
    """
    if not memories or workers < 1:
        raise UsageError(f"Memory of {len(memories)} workers cannot be handed on to {workers}.")
    mean = {
        name: torch.stack([each[name] for each in memories]).mean(dim=0) if tensor.is_floating_point() else tensor
        for name, tensor in memories[0].items()
    }
    return [{name: tensor.clone() for name, tensor in mean.items()} for _ in range(workers)]


def _split(x: torch.Tensor, pieces: Sequence[Piece]) -> tuple[torch.Tensor, ...]:
    return x.split([piece.size for piece in pieces])


def _add_sizes(sums: Tensors, pieces: Sequence[Piece], x: torch.Tensor) -> None:
    for piece, part in zip(pieces, _split(x, pieces), strict=True):
        sums[piece.name] += torch.linalg.vector_norm(part, ord=1, dtype=torch.float64)
