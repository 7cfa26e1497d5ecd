"""How the weights of a run are changed, and the course of its learning rate."""

from __future__ import annotations

import math
from typing import Any

import torch
from packaging.version import Version
from torch import nn

from lipgnn.spec import RunSpec


def adam(network: nn.Module, spec: RunSpec) -> torch.optim.Adam:
    """Adam over all weights in one call, as far as this torch can: a deep network has many small ones."""
    one_call = "fused" if Version(torch.__version__) >= Version("2.4") else "foreach"
    return torch.optim.Adam(network.parameters(), lr=spec.lr, weight_decay=spec.weight_decay, **{one_call: True})


def schedule(spec: RunSpec, optimizer: torch.optim.Optimizer) -> Any:
    """The scheduler of a run; plateau has torch's defaults, on the validation loss."""
    if spec.schedule == "plateau":
        return torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    if spec.schedule == "cosine":
        return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=spec.epochs)
    return None


def without_infinities(state: dict[str, Any]) -> dict[str, Any]:
    """A scheduler's state without its infinities, which JSON cannot hold; they are constants it starts with."""
    return {name: value for name, value in state.items() if value != math.inf}
