"""The connections between workers: gloo between processors, NCCL between GPUs that are one a worker."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from datetime import timedelta

import torch
import torch.distributed as dist

from lipgnn.tasks.batches import Share
from lipgnn.training.distributed.surroundings import LOOPBACK
from lipgnn.training.distributed.team import Team

# How long workers wait to be connected, and for what others say: worker 0 may write or measure meanwhile.
_CONNECT, _WAIT = timedelta(minutes=5), timedelta(hours=2)


def open_store(world: int) -> dist.TCPStore:
    """Where the workers of this machine find each other, at a free port that only this machine reaches."""
    with socket.socket() as listening:
        listening.bind((LOOPBACK, 0))
        listening.listen(world)
        port = listening.getsockname()[1]
        return dist.TCPStore(
            LOOPBACK,
            port,
            world,
            is_master=True,
            timeout=_CONNECT,
            wait_for_workers=False,
            # The store closes it.
            master_listen_fd=listening.detach(),
        )


def find_store(address: str, port: int, world: int, *, master: bool = False) -> dist.TCPStore:
    """That of others, at an address; of worker 0 itself where a launcher has named one."""
    return dist.TCPStore(address, port, world, is_master=master, timeout=_CONNECT, wait_for_workers=False)


@contextlib.contextmanager
def connected(share: Share, store: dist.Store, *, loopback: bool, machine: int) -> Iterator[Team]:
    """The team of the workers that meet at a store, until the end of the context.

    Where a launcher, such as Ray Train, has connected them already, its connections are left as they are.

    Parameters
    ----------
    loopback : whether they all are on this machine; else they talk over the network, by the interface that
        GLOO_SOCKET_IFNAME names or that this machine's name leads to.
    """
    own = not dist.is_initialized()
    with _on_loopback() if loopback else contextlib.nullcontext():
        if own:
            dist.init_process_group("gloo", store=store, rank=share.rank, world_size=share.world, timeout=_WAIT)
        try:
            groups = [dist.new_group(backend="gloo", timeout=_WAIT) for _ in range(2)]
            yield Team(share, *groups, machine=machine)
        finally:
            if own:
                dist.destroy_process_group()


@contextlib.contextmanager
def _on_loopback() -> Iterator[None]:
    """Let gloo listen where only this machine reaches it, unless a variable says otherwise."""
    name = "GLOO_SOCKET_IFNAME"
    told = name in os.environ
    os.environ.setdefault(name, "lo0" if sys.platform == "darwin" else "lo")
    try:
        yield
    finally:
        if not told:
            del os.environ[name]


def device_of(device: torch.device, local_rank: int) -> torch.device:
    """The device of a worker: where there are GPUs, the one of its number on its machine."""
    return torch.device("cuda", local_rank % torch.cuda.device_count()) if device.type == "cuda" else device
