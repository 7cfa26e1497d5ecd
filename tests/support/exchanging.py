"""One of two workers that exchange gradients by torch's DistributedDataParallel; writes what it found as JSON.

Usage: exchanging.py RANK STORE OUT, with STORE a file both can write.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from lipgnn.spec.compression import parse_compress
from lipgnn.training.gradients import ONE_BUCKET, Exchange, register

STEPS = 60
MANY = 400
BRIEF = 20
KINDS = ("none", "topk:0.05", "randk:0.05", "qsgd:4", "fp16", "powersgd:1", "topk:1000000")
RATE = 0.2


def network_of() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(12, 40), nn.Tanh(), nn.Linear(40, 20), nn.Tanh(), nn.Linear(20, 3))


def data_of(rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(16, 12, generator=torch.Generator().manual_seed(rank))
    return x, x[:, :3].argmax(dim=1)


def flat(network: nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().reshape(-1) for parameter in network.parameters()])


def train(rank: int, group: dist.ProcessGroup, kind: str, megabytes: float, steps: int) -> dict[str, object]:
    """Train on half of the data; with a bucket of `megabytes` at most."""
    network = network_of()
    ddp = DistributedDataParallel(network, process_group=group, bucket_cap_mb=megabytes)
    exchange = Exchange(network.named_parameters(), parse_compress(kind), seed=3)
    register(ddp, exchange, group)
    optimizer = torch.optim.SGD(network.parameters(), lr=RATE)
    x, y = data_of(rank)
    virtual, losses = flat(network).double(), []
    for _ in range(steps):
        # What a worker's own gradient is before anything is sent, for the virtual iterate.
        if steps == BRIEF:
            own = torch.autograd.grad(nn.functional.cross_entropy(network(x), y), list(network.parameters()))
            mean = torch.cat([part.reshape(-1) for part in own]).double()
            dist.all_reduce(mean, group=group)
            virtual -= RATE * mean / 2
        exchange.rate = RATE
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(ddp(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    found = {"loss": losses[-1], "weights": flat(network).tolist(), "sent": exchange.sent_bits / steps}
    if parse_compress(kind) and parse_compress(kind).sparse:
        found["memory"] = torch.cat([exchange.memory.of(name) for name, _ in network.named_parameters()]).tolist()
    if steps == BRIEF:
        found["difference"] = (flat(network).double() - virtual).tolist()
    return found


def main(rank: int, store: str, out: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    group = dist.group.WORLD
    found = {f"{kind} in one": train(rank, group, kind, ONE_BUCKET, STEPS) for kind in KINDS}
    for kind in ("topk:0.05", "randk:0.05"):
        found[f"{kind} in several"] = train(rank, group, kind, 0.001, MANY)
        found[f"{kind} briefly"] = train(rank, group, kind, 0.001, BRIEF)
    Path(out).write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
