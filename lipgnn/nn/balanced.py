"""The balanced start: weights with which a deep ReLU network begins as a linear one of orthogonal maps."""

from __future__ import annotations

import math

import torch
from torch import nn


def mirror_(weight: torch.Tensor, *, rows: int | None, columns: int | None) -> None:
    """Draw a map of channels that come in pairs ±v anew, in place.

    With orthogonal U, for every head the first half of its channels against the second,

        W = [[U, −U], [−U, U]],   of what does not come in pairs W = [U, −U] or [U; −U]

    so that ReLU(W x) for x = ReLU([v; −v]) is ReLU([U v; −U v]): since ReLU(v) − ReLU(−v) = v, the layers together do
    what their U do. Within each head, so that it stays true when every head mixes nodes in its own way; the authors
    mirror across heads.

    Reference: Mustafa, Bojchevski & Burkholz, "Are GATs Out of Balance?", NeurIPS 2023; after Balduzzi et
    al., "The Shattered Gradients Problem", ICML 2017.

    Parameters
    ----------
    weight : (out, in), or (in, out) where both come in pairs.
    rows, columns : the number of heads of its rows and of its columns, each of an even width; None where they do not
        come in pairs.
    """
    out, into = weight.shape
    half = weight.new_empty(out // (2 if rows else 1), into // (2 if columns else 1))
    nn.init.orthogonal_(half)
    if rows:
        half = _paired(half, rows)
    if columns:
        half = _paired(half.t(), columns).t()
    with torch.no_grad():
        weight.copy_(half)


def lengthen_(weight: torch.Tensor, length: float, *, dim: int) -> None:
    """Bring the vectors of `weight` along a dimension to this length, in place; its rows with dim 1."""
    with torch.no_grad():
        weight.mul_(length / torch.linalg.vector_norm(weight, dim=dim, keepdim=True))


def balance_ends(encoder: nn.Linear, decoder: nn.Linear, heads: int, *, summed: bool) -> None:
    """Draw the two ends of a network whose layers are mirrored.

    Row i of every map then has the length √2 of column i of the next: they are in balance, |row|² − |column|² = 0,
    which gradient flow keeps.

    Parameters
    ----------
    summed : whether layers add to their input: the encoder gives [v/2; −v/2], without a ReLU behind it.
    """
    mirror_(encoder.weight, rows=heads, columns=None)
    lengthen_(encoder.weight, math.sqrt(2) / (2 if summed else 1), dim=1)
    mirror_(decoder.weight, rows=None, columns=heads)
    lengthen_(decoder.weight, math.sqrt(2), dim=0)


def _paired(half: torch.Tensor, heads: int) -> torch.Tensor:
    """(R, C) → (2R, C): for every head its rows, then the same with the other sign."""
    own = half.unflatten(0, (heads, -1))
    return torch.cat([own, -own], dim=1).flatten(0, 1)
