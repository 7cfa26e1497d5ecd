"""Lengths of vectors of any size, and numbers that can be divided by."""

from __future__ import annotations

import torch


def safe_length(x: torch.Tensor) -> torch.Tensor:
    """‖x‖₂ over the last dimension (kept), without overflow or underflow, with gradient 0 at 0."""
    size = nonzero(x.detach().abs().amax(dim=-1, keepdim=True))
    return size * torch.linalg.vector_norm(x / size, dim=-1, keepdim=True)


def mixed_length(x: torch.Tensor, mixing: torch.Tensor) -> torch.Tensor:
    """‖√|m_h| ⊙ x‖₂ = sqrt( Σ_r |m_hr| x_r² ) for every row m_h, (N, D̃) and (H, D̃) → (N, H, 1), as safely.

    Differentiated through |m_hr|, whose root has no derivative at 0: a channel that a head does not use yet counts.
    """
    size = nonzero((mixing.detach().abs().sqrt() * x.detach().abs().unsqueeze(1)).amax(dim=-1, keepdim=True))
    # Beyond this are channels that the head does not use, m = 0, beside which those that it uses are nothing.
    most = torch.finfo(x.dtype).max ** 0.5
    ratio = (x.unsqueeze(1) / size).clamp(-most, most)  # (N, H, D̃)
    square = (mixing.abs() * ratio.square()).sum(dim=-1, keepdim=True)  # in [1, D̃], or 0 where all is zero
    return size * torch.where(square > 0, nonzero(square).sqrt(), square)


def nonzero(size: torch.Tensor) -> torch.Tensor:
    """`size`, with 1 where it is too small to divide by; features that are all zero have score 0 either way."""
    return torch.where(size > torch.finfo(size.dtype).tiny, size, torch.ones_like(size))


def spectral_norm(weight: torch.Tensor) -> float:
    """The largest singular value of a matrix, in float64."""
    return torch.linalg.matrix_norm(weight.detach().double(), 2).item()
