"""Where the way back through a network ends: by then all layers and their inputs have their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from lipgnn.network.deep import DeepGNN
from lipgnn.network.hops import Graphs

# Beside names of parameters, none of which is empty.
_INPUT = ""


def when_back(network: DeepGNN, call: Callable[[], None]) -> None:
    """Call at the end of every way back that leaves gradients; nothing is clipped then yet.

    It ends at the encoder. Without one it ends at the first layer, whose parameters and input come in no certain order:
    all of them are waited for.
    """
    first = next(network.encoder.parameters(), None)
    if first is not None:
        first.register_post_accumulate_grad_hook(lambda _: call())
        return
    own = dict(network.blocks[0].named_parameters())
    awaited = set(own)

    def arrived(name: str) -> None:
        awaited.discard(name)
        if not awaited:
            awaited.update(own)
            call()

    def begin(module: nn.Module, arguments: tuple[Any, ...], x: torch.Tensor) -> None:
        if x.requires_grad:
            awaited.add(_INPUT)
            x.register_post_accumulate_grad_hook(lambda _: arrived(_INPUT))

    for name, parameter in own.items():
        parameter.register_post_accumulate_grad_hook(lambda _, name=name: arrived(name))
    network.encoder.register_forward_hook(begin)


def go_back(
    network: DeepGNN, graph: Graphs, features: torch.Tensor, loss: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    """One way forth and back to where it ends, past all layers; no gradient is left of it."""
    found: list[torch.Tensor] = []
    handle = network.encoder.register_forward_hook(lambda module, arguments, x: found.append(x))
    try:
        value = loss(network(graph, features))
    finally:
        handle.remove()
    first = next(network.encoder.parameters(), None)
    torch.autograd.grad(value, found[0] if first is None else first)
