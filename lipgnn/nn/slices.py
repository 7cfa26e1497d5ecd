"""Features of several slices, such as images on one graph: taken apart for attention, and put together again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

Projected = Sequence[torch.Tensor | None]
"""Features after a layer's maps, by which attention is computed; which they are is the layer's affair."""


def unbound(projected: Projected) -> Iterator[Projected]:
    """Of (B, N, …) each the parts (N, …), one after the other; what is None is None in all."""
    count = next(len(x) for x in projected if x is not None)
    return zip(*([None] * count if x is None else x.unbind(0) for x in projected), strict=True)


def stacked(parts: Sequence[torch.Tensor | None], shape: torch.Size) -> torch.Tensor | None:
    """(N, H, D) of every part → (N, …, H, D), … being `shape`; None of None."""
    return None if parts[0] is None else torch.stack(parts, dim=1).unflatten(1, shape)
