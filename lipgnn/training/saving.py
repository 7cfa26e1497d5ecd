"""What of a run's state is saved, and how a run goes on from it.

Worker 0 has all of it but the random streams of the others, who hand theirs over.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import torch
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as tensors_to_bytes

from lipgnn.tasks.saved import Tensors
from lipgnn.training.checkpoint import CheckpointFile, check_state
from lipgnn.training.distributed.division import stream
from lipgnn.training.optimizer import without_infinities
from lipgnn.training.selection import Epoch
from lipgnn.training.state import Training


def save(training: Training, checkpoint: CheckpointFile) -> None:
    """Write all of a run to a checkpoint; the other workers `hand_over` theirs."""
    tensors = {f"network.{name}": tensor for name, tensor in training.network.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in training.best_weights.items()}
    for index, state in training.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": tensor for name, tensor in state.items()}
    tensors |= _own(training)
    for rank, content in enumerate(training.team.collect(b"")):
        if rank:
            tensors |= {f"{name}.{rank}": tensor for name, tensor in tensors_from_bytes(content).items()}
    checkpoint.write(tensors, _state(training), training.spec)


def hand_over(training: Training) -> None:
    """Give worker 0 what only this one has."""
    training.team.collect(tensors_to_bytes(_own(training)))


def restore(training: Training, tensors: Tensors, state: dict[str, Any]) -> None:
    """Go on from a checkpoint as if there had been no interruption.

    Raises
    ------
    ValueError, KeyError, TypeError, RuntimeError : the checkpoint is not of this run.
    """
    if training.team.size > 1:
        training.team.spread(json.dumps(state).encode())
        training.team.spread(tensors_to_bytes({name: tensor.contiguous() for name, tensor in tensors.items()}))
    _restore(training, tensors, state)


def take_over(training: Training) -> None:
    """Go on from the checkpoint that worker 0 restores."""
    state = json.loads(training.team.spread())
    _restore(training, tensors_from_bytes(training.team.spread()), state)


def _own(training: Training) -> Tensors:
    """What every worker has of its own."""
    own = {"rng.cpu": torch.get_rng_state()}
    if training.device.type == "cuda":
        own["rng.cuda"] = torch.cuda.get_rng_state(training.device)
    return own


def _state(training: Training) -> dict[str, Any]:
    """All but the tensors."""
    return {
        "epoch": training.epoch,
        "seconds": training.seconds,
        "max_grad_norm": training.max_grad_norm,
        "threads": training.threads,
        "unreported": training.unreported,
        "last": asdict(training.last) if training.last else None,
        "best": asdict(training.best) if training.best else None,
        "measures": training.measures,
        "lr": training.optimizer.param_groups[0]["lr"],
        "scheduler": without_infinities(training.scheduler.state_dict()) if training.scheduler else None,
    }


def _restore(training: Training, tensors: Tensors, state: dict[str, Any]) -> None:
    check_state(state, _state(training) | {"threads": None})
    groups: dict[str, Tensors] = {"network": {}, "best": {}, "optimizer": {}, "rng": {}}
    for name, tensor in tensors.items():
        group, _, rest = name.partition(".")
        groups[group][rest] = tensor
    training.network.load_state_dict(groups["network"])
    training.best_weights = {name: tensor.to(training.device) for name, tensor in groups["best"].items()}
    optimizer = training.optimizer.state_dict()
    for name, tensor in groups["optimizer"].items():
        index, _, key = name.partition(".")
        optimizer["state"].setdefault(int(index), {})[key] = tensor
    for group in optimizer["param_groups"]:
        group["lr"] = state["lr"]
    training.optimizer.load_state_dict(optimizer)
    if training.scheduler:
        training.scheduler.load_state_dict(state["scheduler"])
    training.epoch, training.seconds = state["epoch"], state["seconds"]
    training.max_grad_norm, training.unreported = state["max_grad_norm"], state["unreported"]
    if state["threads"] != training.threads:
        training.threads, training.earlier_threads = None, state["threads"]
    training.last = Epoch(**state["last"]) if state["last"] else None
    training.best = Epoch(**state["best"]) if state["best"] else None
    training.measures = state["measures"]
    _restore_streams(training, groups["rng"])


def _restore_streams(training: Training, streams: Tensors) -> None:
    """Draw on where this worker stopped; one that was not there before begins a stream of its own."""
    earlier = sum(name.partition(".")[0] == "cpu" for name in streams)
    if earlier != training.team.size:
        training.earlier_workers = earlier
    rank = training.team.share.rank
    ending = f".{rank}" if rank else ""
    if rank >= earlier:
        torch.manual_seed(stream(training.spec.seed, rank, training.epoch))
        return
    torch.set_rng_state(streams[f"cpu{ending}"])
    if f"cuda{ending}" in streams and training.device.type == "cuda":
        torch.cuda.set_rng_state(streams[f"cuda{ending}"], training.device)
