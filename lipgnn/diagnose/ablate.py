"""A trained network with parts of it switched off: which of them keep the nodes apart.

Reference: Dong, Cordonnier & Loukas, "Attention is Not All You Need: Pure Attention Loses Rank Doubly Exponentially
with Depth", ICML 2021, whose experiments take skips and MLPs out of trained transformers; the norms are ours.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import torch
from torch import nn

from lipgnn.diagnose.data import WholeData
from lipgnn.errors import UsageError, unknown_name
from lipgnn.measures.features import rank_one_residual
from lipgnn.measures.walk import components
from lipgnn.network.blocks import Block
from lipgnn.network.deep import DeepGNN
from lipgnn.nn.contract import own_skip, score_norm_of

# What can be switched off: all that carries a layer's input, or the first features, past it; the MLP of every layer;
# all norms of features and scores.
PARTS = ("skip", "mlp", "norm")


@dataclass(frozen=True)
class Variant:
    """The network without some parts.

    Attributes
    ----------
    off : what is switched off.
    accuracy : the metric on every part of the split.
    residuals : what keeps the rows of X^(0) … X^(L) from being one row a component; None if not finite.
    """

    off: tuple[str, ...]
    accuracy: dict[str, float | None]
    residuals: list[float | None]


def ablate(network: DeepGNN, data: WholeData, parts: Sequence[str]) -> list[Variant]:
    """The network whole, and with every choice of the parts switched off, the fewest first; it is left as it was.

    Raises
    ------
    UsageError : a part that there is none of, or that cannot be switched off.
    """
    for part in parts:
        if part not in PARTS:
            raise unknown_name("part", part, PARTS)
        if network.reversible:
            raise UsageError("Layers of the reversible stack cannot be taken apart.", "Diagnose a plain stack.")
        if not any(_changes(block, part) for block in network.blocks):
            raise UsageError(f"The network has no {part} to switch off.")
    network.eval()
    numbers = range(len(parts) + 1)
    return [_variant(network, data, off) for count in numbers for off in combinations(parts, count)]


@torch.no_grad()
def _variant(network: DeepGNN, data: WholeData, off: tuple[str, ...]) -> Variant:
    found: list[torch.Tensor] = []
    labels = components(data.graph)

    def look(module: nn.Module, arguments: tuple[Any, ...], y: torch.Tensor) -> None:
        found.append(rank_one_residual(y, labels))

    handles = [part.register_forward_hook(look) for part in (network.encoder_activation, *network.blocks)]
    try:
        with switched_off(network, off):
            logits = network(data.graph, data.features)
    finally:
        for handle in handles:
            handle.remove()
    numbers = [value.item() for value in found]
    return Variant(off, data.accuracy(logits), [value if math.isfinite(value) else None for value in numbers])


@contextlib.contextmanager
def switched_off(network: DeepGNN, parts: Sequence[str]) -> Iterator[None]:
    """A network of the plain stack without some of PARTS, for a while."""
    changes = [change for block in network.blocks for part in parts for change in _changes(block, part)]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in changes]
    try:
        for owner, name, value in changes:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def _changes(block: Block, part: str) -> list[tuple[nn.Module, str, Any]]:
    """What to set in a block so that it lacks a part: owner, attribute and value."""
    if part == "mlp":
        wanted = [(block, "mlp", None)]
    else:
        # The MLP is a block as well, with a skip and norms of its own.
        both = [block] if block.mlp is None else [block, block.mlp]
        wanted = [change for one in both for change in (_without_skip(one) if part == "skip" else _without_norms(one))]
    return [(owner, name, value) for owner, name, value in wanted if getattr(owner, name) != value]


def _without_skip(block: Block) -> list[tuple[nn.Module, str, Any]]:
    """As with --residual none: the branch alone, at its full size."""
    own = [] if own_skip(block.conv) is None else [(block.conv, "skip", None)]
    return [(block, "residual", "none"), (block, "gate", None), *own]


def _without_norms(block: Block) -> list[tuple[nn.Module, str, Any]]:
    own = [] if score_norm_of(block.conv) is None else [(block.conv, "norm", None)]
    return [(block, "norm", None), (block, "sum_norm", None), *own]
