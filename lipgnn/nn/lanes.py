"""Heads of several slices side by side, so that the vectors of the fused kernel run along them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import nn

from lipgnn.nn.slices import Projected


class Lanes:
    """The heads of all slices in groups that fill a vector.

    No head knows of another, and none of another slice: those of all slices may stand in one row, and be attended a
    group at a time, as if the group were the heads of one slice. Lanes of the last group that are left over are zero.

    Parameters
    ----------
    slices, heads : B and H.
    width : lanes of a group, L.
    """

    def __init__(self, slices: int, heads: int, width: int):
        self.slices, self.heads, self.width = slices, heads, width
        self.groups = -(-slices * heads // width)

    def groups_of(self, projected: Projected) -> Iterator[Projected]:
        """Of (B, N, H, D) the groups, (N, L, D) with the lanes fastest in memory; what is None is None in all."""
        parts = [[None] * self.groups if x is None else self._spread(x).unbind(0) for x in projected]
        return zip(*parts, strict=True)

    def heads_in(self, group: int, device: torch.device) -> torch.Tensor:
        """Which of the H heads every lane of a group is, (L,)."""
        return torch.arange(group * self.width, (group + 1) * self.width, device=device) % self.heads

    def joined(self, groups: Sequence[torch.Tensor]) -> torch.Tensor:
        """(M, L, D) of every group → (M, B, H, D)."""
        lanes = torch.cat(list(groups), dim=1)[:, : self.slices * self.heads]
        return lanes.unflatten(1, (self.slices, self.heads))

    def _spread(self, x: torch.Tensor) -> torch.Tensor:
        _, nodes, _, width = x.shape
        lanes = x.transpose(1, 2).reshape(-1, nodes * width)  # (B·H, N·D)
        lanes = nn.functional.pad(lanes, (0, 0, 0, self.groups * self.width - len(lanes)))
        by_group = lanes.unflatten(0, (self.groups, self.width)).transpose(1, 2).contiguous()  # (groups, N·D, L)
        return by_group.unflatten(1, (nodes, width)).transpose(-1, -2)


def of_heads(parameter: torch.Tensor, heads: torch.Tensor | None) -> torch.Tensor:
    """A parameter (…, H, D), of all heads or of these."""
    return parameter if heads is None else parameter.index_select(-2, heads)
