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
from lipgnn.training.gradients.memory import hand_on
from lipgnn.training.learner import group_of
from lipgnn.training.selection import Epoch
from lipgnn.training.state import Training

# What the names of tensors begin with that are of another worker than 0, and of what a worker keeps of its gradients.
_WORKER, _EXCHANGE = "worker", "exchange"


def save(training: Training, checkpoint: CheckpointFile) -> None:
    """Write all of a run to a checkpoint; the other workers `hand_over` theirs."""
    tensors = {f"network.{name}": tensor for name, tensor in training.network.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in training.best_weights.items()}
    tensors |= {**training.learner.tensors(), **_streams(training)}
    for rank, content in enumerate(training.team.collect(b"")):
        if rank:
            tensors |= {f"{_WORKER}.{rank}.{name}": own for name, own in tensors_from_bytes(content).items()}
    checkpoint.write(tensors, _state(training), training.spec)


def hand_over(training: Training) -> None:
    """Give worker 0 what only this one has: its memory of gradients and its random stream."""
    own = {f"{_EXCHANGE}.{name}": tensor for name, tensor in training.learner.exchange.tensors().items()}
    training.team.collect(tensors_to_bytes({**own, **_streams(training)}))


def pass_on(training: Training, tensors: Tensors, state: dict[str, Any]) -> None:
    """Let the other workers go on from a checkpoint, too."""
    training.team.order("restore")
    if training.team.size > 1:
        training.team.spread(json.dumps(state).encode())
        training.team.spread(tensors_to_bytes({name: tensor.contiguous() for name, tensor in tensors.items()}))


def take_over(training: Training) -> None:
    """Go on from the checkpoint that worker 0 passes on."""
    state = json.loads(training.team.spread())
    restore(training, tensors_from_bytes(training.team.spread()), state)


def _streams(training: Training) -> Tensors:
    """Where the random streams of this worker are."""
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
        **training.learner.state(),
    }


def restore(training: Training, tensors: Tensors, state: dict[str, Any]) -> None:
    """Go on from a checkpoint as if there had been no interruption.

    Raises
    ------
    ValueError, KeyError, TypeError, RuntimeError : the checkpoint is not of this run.
    """
    check_state(state, _state(training) | {"threads": None})
    parts = _by_worker(tensors)
    own = _own_part(training, parts)
    network, best = (group_of(parts[0], name) for name in ("network", "best"))
    training.network.load_state_dict(network)
    training.best_weights = {name: tensor.to(training.device) for name, tensor in best.items()}
    training.learner.load(own, state)
    training.epoch, training.seconds = state["epoch"], state["seconds"]
    training.max_grad_norm, training.unreported = state["max_grad_norm"], state["unreported"]
    if state["threads"] != training.threads:
        training.threads, training.earlier_threads = None, state["threads"]
    training.last = Epoch(**state["last"]) if state["last"] else None
    training.best = Epoch(**state["best"]) if state["best"] else None
    training.measures = state["measures"]
    _restore_streams(training, parts)


def _by_worker(tensors: Tensors) -> list[Tensors]:
    """What is of every worker, by the names that worker 0 has for it: the first part also has what is of all."""
    parts: dict[int, Tensors] = {0: {}}
    for name, tensor in tensors.items():
        group, _, rest = name.partition(".")
        rank, _, rest = rest.partition(".") if group == _WORKER else ("0", "", name)
        parts.setdefault(int(rank), {})[rest] = tensor
    return [parts[rank] for rank in range(len(parts))]


def _own_part(training: Training, parts: list[Tensors]) -> Tensors:
    """What this worker goes on from; where there were more or fewer workers, memory is handed on by its sum."""
    workers, rank = training.team.size, training.team.share.rank
    memories = [group_of(part, _EXCHANGE) for part in parts]
    if workers != len(parts) and all(memories):
        memories = hand_on(memories, workers)
    memory = memories[rank] if rank < len(memories) else {}
    shared = {name: tensor for name, tensor in parts[0].items() if not name.startswith(f"{_EXCHANGE}.")}
    return shared | {f"{_EXCHANGE}.{name}": tensor for name, tensor in memory.items()}


def _restore_streams(training: Training, parts: list[Tensors]) -> None:
    """Draw on where this worker stopped; one that was not there before begins a stream of its own."""
    if len(parts) != training.team.size:
        training.earlier_workers = len(parts)
    rank = training.team.share.rank
    if rank >= len(parts):
        torch.manual_seed(stream(training.spec.seed, rank, training.epoch))
        return
    streams = group_of(parts[rank], "rng")
    torch.set_rng_state(streams["cpu"])
    if "cuda" in streams and training.device.type == "cuda":
        torch.cuda.set_rng_state(streams["cuda"], training.device)
