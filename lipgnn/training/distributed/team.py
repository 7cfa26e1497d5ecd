"""What the workers of a run say to each other: numbers, rows of tensors and bytes, never objects of Python.

Bytes are JSON and safetensors, so that nothing that arrives can be run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist

from lipgnn.tasks.batches import WHOLE, Share


class Team:
    """The workers of a run, seen by one of them; alone where nothing is said.

    All of them call the same methods in the same order.

    Parameters
    ----------
    share : which of how many workers this is.
    group : who they are; None where there is one.
    statistics : the same workers by connections of their own, for what is exchanged in the middle of a way back.
    machine : how many of them are on this machine.

    Attributes
    ----------
    counts : whether the items that this worker computes now are its own, and not there to keep it company.
    """

    def __init__(
        self,
        share: Share = WHOLE,
        group: dist.ProcessGroup | None = None,
        statistics: dist.ProcessGroup | None = None,
        machine: int = 1,
    ):
        self.share = share
        self.group, self.statistics, self.machine = group, statistics, machine
        self.counts = True

    @property
    def size(self) -> int:
        """How many workers there are."""
        return self.share.world

    @property
    def leads(self) -> bool:
        """Whether this is the worker that decides."""
        return self.share.rank == 0

    def total(self, numbers: Sequence[float]) -> list[float]:
        """The sum of every number over all workers, the same bits for all of them."""
        if self.size == 1:
            return list(numbers)
        sums = torch.tensor(numbers, dtype=torch.float64, device="cpu")
        dist.all_reduce(sums, group=self.group)
        return sums.tolist()

    def any(self, truth: bool) -> bool:
        """Whether it is true of any worker."""
        return self.total([float(truth)])[0] > 0

    def order(self, what: str, **more: Any) -> None:
        """Let the others do something, which worker 0 does itself as well."""
        if self.size > 1:
            self.say({"do": what, **more})

    def say(self, message: dict[str, Any] | None = None) -> dict[str, Any]:
        """What worker 0 says, to all."""
        return json.loads(self.spread(json.dumps(message).encode() if self.leads else b""))

    def spread(self, content: bytes = b"") -> bytes:
        """What worker 0 has, for all."""
        if self.size == 1:
            return content
        size = torch.tensor([len(content)], device="cpu")
        dist.broadcast(size, 0, group=self.group)
        there = _tensor(content) if self.leads else torch.empty(int(size), dtype=torch.uint8, device="cpu")
        if len(there):
            dist.broadcast(there, 0, group=self.group)
        return there.numpy().tobytes()

    def collect(self, content: bytes) -> list[bytes]:
        """What all of them have, in their order, for worker 0; nothing for the others."""
        if self.size == 1:
            return [content]
        sizes = [torch.empty(1, dtype=torch.int64, device="cpu") for _ in range(self.size)]
        dist.all_gather(sizes, torch.tensor([len(content)], device="cpu"), group=self.group)
        if not self.leads:
            if content:
                dist.send(_tensor(content), 0, group=self.group)
            return []
        found = [content]
        for rank, size in enumerate(map(int, sizes[1:]), start=1):
            received = torch.empty(size, dtype=torch.uint8, device="cpu")
            if size:
                dist.recv(received, rank, group=self.group)
            found.append(received.numpy().tobytes())
        return found

    def rows(self, own: torch.Tensor) -> torch.Tensor:
        """The rows (N, C) of all workers, in their order, for all of them; who has none may not know C."""
        if self.size == 1:
            return own
        sizes = [torch.empty(2, dtype=torch.int64, device="cpu") for _ in range(self.size)]
        dist.all_gather(sizes, torch.tensor(own.shape, device="cpu"), group=self.group)
        counts, widths = torch.stack(sizes).T.tolist()
        padded = own.new_zeros((max(counts), max(widths)), device="cpu")
        padded[: len(own), : own.shape[1]] = own
        parts = [torch.empty_like(padded) for _ in range(self.size)]
        dist.all_gather(parts, padded, group=self.group)
        return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)]).to(own.device)


def _tensor(content: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(content), dtype=torch.uint8) if content else torch.empty(0, dtype=torch.uint8)
