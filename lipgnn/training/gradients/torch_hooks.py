"""Half precision and PowerSGD, which are torch's own hooks, on gradients in an order that does not depend on buckets.

Reference: Vogels, Karimireddy & Jaggi, "PowerSGD: Practical Low-Rank Gradient Compression for Distributed
Optimization", NeurIPS 2019.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook

from lipgnn.errors import UsageError
from lipgnn.tasks.saved import Tensors

# Torch's PowerSGD sends all of the first gradients, two at least.
_FIRST_STEPS = 2


class Bucket:
    """What torch's hooks ask of a bucket: here, all gradients of a network in the order of its parameters.

    Parameters
    ----------
    flat : all gradients one after the other.
    shapes : of the parameters.
    """

    def __init__(self, flat: torch.Tensor, shapes: Sequence[torch.Size]):
        self._flat = flat
        parts = flat.split([shape.numel() for shape in shapes])
        self._gradients = [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]

    def buffer(self) -> torch.Tensor:
        return self._flat

    def gradients(self) -> list[torch.Tensor]:
        return self._gradients

    def index(self) -> int:
        return 0

    def is_last(self) -> bool:
        return True


class Half:
    """The mean of all workers' gradients in numbers of 16 bits."""

    def mean(self, bucket: Bucket, group: dist.ProcessGroup | None) -> tuple[torch.Tensor, int]:
        """The mean, (d,), and the bits that were sent; in one process, the gradient rounded to 16 bits."""
        flat = bucket.buffer()
        mean = fp16_compress_hook(group, bucket).wait() if group else flat.half().to(flat.dtype)
        return mean, 16 * len(flat)

    def tensors(self) -> Tensors:
        return {}

    def load(self, tensors: Tensors) -> None:
        """There is nothing to go on from."""


class PowerSgd:
    """The mean of all workers' gradients, each matrix by one of low rank, with torch's error feedback.

    All gradients come in one bucket (see `hooks.ONE_BUCKET`).

    Parameters
    ----------
    rank : of the matrices.
    memory : whether what is left out is added to the next gradient.
    seed : of the first matrices.
    """

    def __init__(self, rank: int, *, memory: bool, seed: int):
        self._state = PowerSGDState(
            None, rank, start_powerSGD_iter=_FIRST_STEPS, use_error_feedback=memory, random_seed=seed % 2**32
        )

    def mean(self, bucket: Bucket, group: dist.ProcessGroup | None) -> tuple[torch.Tensor, int]:
        """The mean, (d,), and the bits that were sent.

        Raises
        ------
        UsageError : there is one process alone.
        """
        if group is None:
            raise UsageError(
                "PowerSGD is torch's hook for gradients that workers send each other, and there is one process.",
                "Use --workers 2, or --compress topk:0.01.",
            )
        state, flat = self._state, bucket.buffer()
        state.process_group = group
        before, first = state.total_numel_after_compression, state.iter < state.start_powerSGD_iter
        mean = powerSGD_hook(state, bucket).wait()
        sent = len(flat) if first else state.total_numel_after_compression - before
        return mean, sent * 8 * flat.element_size()

    def tensors(self) -> Tensors:
        """What it goes on from: steps so far, what was left out, and the last matrices."""
        state = self._state
        parts = {"error": state.error_dict, "p": state.p_memory_dict, "q": state.q_memory_dict}
        found = {f"power.{name}": own[0] for name, own in parts.items() if own}
        return {**found, "power.steps": torch.tensor(state.iter, dtype=torch.int64, device="cpu")}

    def load(self, tensors: Tensors) -> None:
        """Go on from what `tensors` gave."""
        state = self._state
        state.iter = int(tensors["power.steps"])
        parts = {"error": state.error_dict, "p": state.p_memory_dict, "q": state.q_memory_dict}
        for name, own in parts.items():
            if (tensor := tensors.get(f"power.{name}")) is not None:
                own[0] = tensor.clone()
