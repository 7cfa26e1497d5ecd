"""Which implementation of the attention step is used, and why."""

from __future__ import annotations

import importlib
from types import ModuleType

import torch

from lipgnn.catalog import KERNELS, NO_NORM, check_name, fused_norms, parse_norm
from lipgnn.errors import EnvironmentBroken

ASKED_FOR = "asked for"
_MODULES = {"fused": "lipgnn.kernels.fused", "triton": "lipgnn.kernels.triton"}


def choose(requested: str, device: torch.device) -> tuple[str, str]:
    """The kernel for a request, and the reason for the choice.

    Parameters
    ----------
    requested : "auto", "dgl", "fused" or "triton".
    device : where the tensors are.

    Raises
    ------
    EnvironmentBroken : the kernel was asked for by name and cannot be used here.
    """
    check_name("kernel", requested, KERNELS)
    if requested == "dgl":
        return "dgl", ASKED_FOR
    if requested == "auto":
        # Triton's kernel has not met a GPU yet; it is used where it is asked for.
        obstacle = _module("fused").obstacle(device)
        return ("dgl", obstacle) if obstacle else ("fused", "the fastest on this device")
    if obstacle := _module(requested).obstacle(device):
        raise EnvironmentBroken(f"Kernel {requested!r} was asked for, but {obstacle}.", "Use --kernel auto.")
    return requested, ASKED_FOR


def choose_for(norm: str, requested: str, device: torch.device) -> tuple[str, str]:
    """The kernel for a network with some norms, as they are called, and the reason; errors as in `choose`.

    Networks without attention have one too: their dropout and their products.
    """
    score = parse_norm(norm)[0] or NO_NORM
    if requested == "auto" and score not in fused_norms():
        return "dgl", f"the only one that knows {score}"
    return choose(requested, device)


def obstacles() -> dict[str, str | None]:
    """For every fused kernel, why it cannot be used on this machine; None if it can."""
    best = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    devices = {"fused": torch.device("cpu"), "triton": best}
    return {name: _module(name).obstacle(device) for name, device in devices.items()}


def implementation(requested: str, device: torch.device) -> ModuleType | None:
    """The module that implements the chosen kernel; None for the reference."""
    name, _ = choose(requested, device)
    return None if name == "dgl" else _module(name)


def _module(name: str) -> ModuleType:
    return importlib.import_module(_MODULES[name])
