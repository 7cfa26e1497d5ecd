"""The attention step on the CPU, compiled (see native/)."""

from __future__ import annotations

import torch


def obstacle(device: torch.device) -> str | None:
    """Why this kernel cannot be used on `device`; None if it can."""
    return "the compiled kernel is not built"
