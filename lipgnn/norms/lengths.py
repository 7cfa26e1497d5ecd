"""Lengths of vectors of any size, and numbers that can be divided by."""

from __future__ import annotations

import torch


def safe_length(x: torch.Tensor) -> torch.Tensor:
    """‖x‖₂ over the last dimension (kept), without overflow or underflow, with gradient 0 at 0."""
    size = nonzero(x.detach().abs().amax(dim=-1, keepdim=True))
    return size * torch.linalg.vector_norm(x / size, dim=-1, keepdim=True)


def nonzero(size: torch.Tensor) -> torch.Tensor:
    """`size`, with 1 where it is too small to divide by; features that are all zero have score 0 either way."""
    return torch.where(size > torch.finfo(size.dtype).tiny, size, torch.ones_like(size))


def spectral_norm(weight: torch.Tensor) -> float:
    """The largest singular value of a matrix, in float64."""
    return torch.linalg.matrix_norm(weight.detach().double(), 2).item()
