"""Where a network first stopped being finite."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from lipgnn.network.deep import DeepGNN
from lipgnn.network.hops import Graphs


class Diverged(Exception):
    """A loss, an output or a gradient is not finite."""


def first_nonfinite_output(network: DeepGNN, graph: Graphs, x: torch.Tensor) -> str | None:
    """The first part, from the input on, whose output has a value that is not finite; None if all are."""
    offenders: list[str] = []

    def watch(name: str):
        def hook(module: nn.Module, args: tuple, output: torch.Tensor) -> None:
            if not output.isfinite().all():
                offenders.append(name)

        return hook

    handles = [part.register_forward_hook(watch(name)) for name, part in _parts(network)]
    try:
        with torch.no_grad():
            network(graph, x)
    finally:
        for handle in handles:
            handle.remove()
    return offenders[0] if offenders else None


def first_nonfinite_gradient(network: DeepGNN) -> str | None:
    """The first part on the way back from the loss with a gradient that is not finite; None if all are."""
    for name, part in reversed(list(_parts(network))):
        if any(p.grad is not None and not p.grad.isfinite().all() for p in part.parameters()):
            return name
    return None


def _parts(network: DeepGNN) -> Iterator[tuple[str, nn.Module]]:
    yield "encoder", network.encoder
    for number, block in enumerate(network.blocks, start=1):
        yield f"layer {number}", block
    yield "decoder", network.decoder
