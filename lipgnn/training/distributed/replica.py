"""The network of one of several workers, whose gradients are those of the batch of all of them."""

from __future__ import annotations

import inspect

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from lipgnn.training.distributed.batch_norm import share_statistics
from lipgnn.training.distributed.team import Team
from lipgnn.training.gradients.exchange import Exchange
from lipgnn.training.gradients.hooks import ONE_BUCKET, register

# Newer versions of torch have another name for it.
_BUFFERS = "forward_sync_buffers"
if _BUFFERS not in inspect.signature(DistributedDataParallel).parameters:
    _BUFFERS = "broadcast_buffers"


def replica(network: nn.Module, team: Team, exchange: Exchange) -> nn.Module:
    """What is called in the place of a network in training: on the way back, gradients are exchanged with others.

    The weights and buffers of all become those of worker 0. Buffers are left alone afterwards: statistics are of all
    workers' items, and the rest of them is a function of the weights.
    """
    share_statistics(network, team)
    for buffer in network.buffers():
        dist.broadcast(buffer, 0, group=team.group)
    group = _group(network, team)
    ddp = DistributedDataParallel(network, process_group=group, bucket_cap_mb=ONE_BUCKET, **{_BUFFERS: False})
    register(ddp, exchange, group)
    return ddp


def _group(network: nn.Module, team: Team) -> dist.ProcessGroup:
    """By what gradients go from one to another: NCCL where every worker has a GPU of its own."""
    device = next(network.parameters()).device
    alone = device.type == "cuda" and team.machine <= torch.cuda.device_count()
    return dist.new_group(backend="nccl") if alone else team.group
