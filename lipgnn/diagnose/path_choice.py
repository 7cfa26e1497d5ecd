"""How many paths through the heads of a network there are, and which of them to look at."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator

from lipgnn.errors import UsageError

Path = tuple[int, ...]
"""For every layer the head taken, from 1, or 0 where the attention was passed by."""


def count_paths(layers: int, heads: int, length: int, *, skips: bool) -> int:
    """C(L, k) H^k paths of length k; without anything that passes the attention by, all have the length L."""
    return math.comb(layers, length) * heads**length if skips or length == layers else 0


def choose_paths(
    layers: int, heads: int, skips: bool, *, count: int, length: int | None = None, seed: int = 0
) -> list[Path]:
    """All paths, of one length if it is given, where they are no more than `count`; else so many different ones.

    Every choice of so many is equally likely.

    Raises
    ------
    UsageError : there is no path of this length.
    """
    lengths = range(layers + 1) if length is None else [length]
    total = sum(count_paths(layers, heads, k, skips=skips) for k in lengths if 0 <= k <= layers)
    if total == 0:
        every = f"lengths from 0 to {layers}" if skips else f"length {layers}, as nothing passes the attention by"
        raise UsageError(f"There is no path of length {length}: all have {every}.")
    if total <= count:
        choices = range(0 if skips else 1, heads + 1)
        every_path = itertools.product(choices, repeat=layers) if length is None else _of_length(layers, heads, length)
        return list(every_path)
    draw = random.Random(seed)
    chosen: dict[Path, None] = {}
    while len(chosen) < count:
        chosen[_drawn(draw, layers, heads, skips, length)] = None
    return list(chosen)


def _of_length(layers: int, heads: int, length: int) -> Iterator[Path]:
    for taken in itertools.combinations(range(layers), length):
        for chosen in itertools.product(range(1, heads + 1), repeat=length):
            by_layer = dict(zip(taken, chosen, strict=True))
            yield tuple(by_layer.get(layer, 0) for layer in range(layers))


def _drawn(draw: random.Random, layers: int, heads: int, skips: bool, length: int | None) -> Path:
    if length is None:
        return tuple(draw.randint(0 if skips else 1, heads) for _ in range(layers))
    taken = set(draw.sample(range(layers), length))
    return tuple(draw.randint(1, heads) if layer in taken else 0 for layer in range(layers))
