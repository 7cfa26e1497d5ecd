"""Exchanged gradients as a communication hook of torch's DistributedDataParallel."""

from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from lipgnn.training.gradients.exchange import Exchange

ONE_BUCKET = 2**20
"""Megabytes of a bucket, for DistributedDataParallel(bucket_cap_mb=…): all gradients are exchanged in one call, so that
k is of all coordinates of the network, as in one process."""


@dataclass(frozen=True)
class Exchanging:
    """What a hook knows: what to do with gradients, and among whom."""

    exchange: Exchange
    group: dist.ProcessGroup


# Torch reads the annotations of a hook, as types and not as text.
def ddp_hook(state: Exchanging, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """What takes the place of the gradients of a bucket.

    `state.exchange.rate` is the learning rate of the step, which has to be set before the gradients are computed.
    """
    pieces = state.exchange.pieces_of(bucket.parameters())
    future = torch.futures.Future()
    future.set_result(state.exchange.exchange(bucket.buffer(), pieces, group=state.group))
    return future


def register(ddp: DistributedDataParallel, exchange: Exchange, group: dist.ProcessGroup) -> None:
    """Let the gradients of a network be exchanged as soon as they are there."""
    ddp.register_comm_hook(Exchanging(exchange, group), ddp_hook)
