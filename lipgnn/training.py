"""The state of a run, epoch by epoch: network, optimizer, selection by validation, and how they are saved."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lipgnn.checkpoint import CheckpointFile, Tensors, save_model
from lipgnn.datasets import Dataset
from lipgnn.divergence import first_nonfinite_gradient, first_nonfinite_output
from lipgnn.models import DeepGNN
from lipgnn.optimizer import adam, schedule, without_infinities
from lipgnn.runtime import seed_all
from lipgnn.spec import RunSpec


@dataclass(frozen=True)
class Epoch:
    """What one epoch came to; also one line of log.jsonl. Metrics are of the updated weights, without dropout."""

    epoch: int
    train_loss: float
    train_acc: float
    val_loss: float
    val_acc: float
    test_acc: float
    grad_norm: float
    lr: float
    best_epoch: int
    seconds: float


class Diverged(Exception):
    """A loss, an output or a gradient is not finite."""


class Training:
    """Everything of a run that changes from epoch to epoch.

    Parameters
    ----------
    spec : what to compute.
    dataset : the data of `spec`.
    device : where.
    """

    def __init__(self, spec: RunSpec, dataset: Dataset, device: torch.device):
        self.spec = spec
        self.dataset = dataset
        seed_all(spec.seed)
        self.network = DeepGNN.from_spec(spec, dataset.num_features, dataset.num_classes).to(device)
        self.optimizer = adam(self.network, spec)
        self.scheduler = schedule(spec, self.optimizer)
        self.graph = dataset.graph.to(device)
        self.features = dataset.features.to(device, getattr(torch, spec.dtype))
        self.labels = dataset.labels.to(device)
        # Numbers instead of masks: to count the nodes of a mask, a GPU would have to be waited for.
        masks = {"train": dataset.train_mask, "val": dataset.val_mask, "test": dataset.test_mask}
        self.parts = {part: mask.nonzero().flatten().to(device) for part, mask in masks.items()}
        self.device = device
        self.epoch = 0
        self.seconds = 0.0
        self.max_grad_norm = 0.0
        self.last: Epoch | None = None
        self.best: Epoch | None = None
        self.best_weights: Tensors = {}
        self._before = _copy(self.network.state_dict())
        # Where training and evaluation compute the same, the evaluation of an epoch is the forward of the next.
        self._shares_forward = not _differs_in_training(self.network)
        self._logits: torch.Tensor | None = None

    def step(self) -> Epoch:
        """Train for one epoch and evaluate.

        The device is waited for twice: for the loss with the norm of its gradient, and for the metrics.

        Raises
        ------
        Diverged : the weights are those before the step, whose loss and gradients were the last finite ones.
        """
        began = time.perf_counter()
        grad_norm = self._backward()
        for kept, now in zip(self._before.values(), self.network.state_dict().values(), strict=True):
            kept.copy_(now)
        lr = self.optimizer.param_groups[0]["lr"]
        self.optimizer.step()
        metrics = self._evaluate()
        if metrics is None:
            where = self._first_bad_output()
            self.network.load_state_dict(self._before)
            raise Diverged(where)
        self._advance_schedule(metrics["val_loss"])
        self.epoch += 1
        self.max_grad_norm = max(self.max_grad_norm, grad_norm)
        seconds = time.perf_counter() - began
        self.seconds += seconds
        record = Epoch(self.epoch, **metrics, grad_norm=grad_norm, lr=lr, best_epoch=self.epoch, seconds=seconds)
        self.last = self._select(record)
        return self.last

    def _backward(self) -> float:
        """Gradients of the training loss, clipped; returns their norm before that."""
        self.network.train()
        self.optimizer.zero_grad()
        logits = self.network(self.graph, self.features) if self._logits is None else self._logits
        self._logits = None
        loss = self.loss(logits)
        loss.backward()
        gradients = [p.grad for p in self.network.parameters() if p.grad is not None]
        norms = [torch.linalg.vector_norm(g, dtype=torch.float64) for g in gradients]
        total = torch.linalg.vector_norm(torch.stack(norms))
        loss_value, grad_norm = torch.stack([loss.detach().double(), total]).tolist()
        if not math.isfinite(loss_value):
            raise Diverged(self._first_bad_output())
        if not math.isfinite(grad_norm):
            raise Diverged(f"gradient of the {first_nonfinite_gradient(self.network) or 'loss'}")
        if 0 < self.spec.clip < grad_norm:
            for gradient in gradients:
                gradient.mul_(self.spec.clip / grad_norm)
        return grad_norm

    def checkpoint_blocks(self, every: int) -> None:
        """Keep the activations of every `every`-th block only; 0 keeps all."""
        self.network.checkpoint_every = every
        self.spec = self.spec.with_values(checkpoint_every=str(every))

    @property
    def finished(self) -> bool:
        """Whether the epochs are used up or patience has run out."""
        waited = self.epoch - self.best.epoch if self.best else 0
        return self.epoch >= self.spec.epochs or (self.spec.patience > 0 and waited >= self.spec.patience)

    def _evaluate(self) -> dict[str, float] | None:
        """Losses and accuracies without dropout; None where an output is not finite."""
        if self._shares_forward:
            self._logits = self.network(self.graph, self.features)
            logits = self._logits.detach()
        else:
            self.network.eval()
            with torch.no_grad():
                logits = self.network(self.graph, self.features)
        correct = (logits.argmax(dim=1) == self.labels).double()
        metrics = {f"{part}_acc": correct[nodes].mean() for part, nodes in self.parts.items()}
        metrics |= {f"{part}_loss": self.loss(logits, part).double() for part in ("train", "val")}
        finite, *values = torch.stack([logits.isfinite().all().double(), *metrics.values()]).tolist()
        return dict(zip(metrics, values, strict=True)) if finite else None

    def loss(self, logits: torch.Tensor, part: str = "train") -> torch.Tensor:
        """Mean cross-entropy over a part of the split."""
        nodes = self.parts[part]
        return nn.functional.cross_entropy(logits[nodes], self.labels[nodes])

    def _first_bad_output(self) -> str:
        where = first_nonfinite_output(self.network, self.graph, self.features)
        return f"output of the {where or 'loss'}"

    def _advance_schedule(self, val_loss: float) -> None:
        if isinstance(self.scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
            self.scheduler.step(val_loss)
        elif self.scheduler is not None:
            self.scheduler.step()

    def _select(self, record: Epoch) -> Epoch:
        """Keep the weights if this epoch is the best so far by validation alone; the earlier wins a tie."""
        if self.best is None or _merit(record, self.spec.select) > _merit(self.best, self.spec.select):
            self.best, self.best_weights = record, _copy(self.network.state_dict())
            return record
        return replace(record, best_epoch=self.best.epoch)

    @property
    def parameters(self) -> int:
        """The number of weights that are learned."""
        return sum(p.numel() for p in self.network.parameters())

    def save_best(self, path: Path) -> None:
        """Write the selected weights as a model file."""
        save_model(
            path,
            self.best_weights,
            spec=self.spec,
            fingerprint=self.dataset.fingerprint,
            shape=(self.dataset.num_features, self.dataset.num_classes),
            class_names=self.dataset.class_names,
        )

    def save(self, checkpoint: CheckpointFile) -> None:
        """Write all of this to a checkpoint."""
        tensors = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in self.best_weights.items()}
        for index, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{name}": tensor for name, tensor in state.items()}
        tensors["rng.cpu"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["rng.cuda"] = torch.cuda.get_rng_state(self.device)
        state = {
            "epoch": self.epoch,
            "seconds": self.seconds,
            "max_grad_norm": self.max_grad_norm,
            "last": asdict(self.last) if self.last else None,
            "best": asdict(self.best) if self.best else None,
            "lr": self.optimizer.param_groups[0]["lr"],
            "scheduler": without_infinities(self.scheduler.state_dict()) if self.scheduler else None,
        }
        checkpoint.write(tensors, state, self.spec)

    def restore(self, tensors: Tensors, state: dict[str, Any]) -> None:
        """Go on from a checkpoint as if there had been no interruption."""
        groups: dict[str, Tensors] = {"network": {}, "best": {}, "optimizer": {}, "rng": {}}
        for name, tensor in tensors.items():
            group, _, rest = name.partition(".")
            groups[group][rest] = tensor
        self.network.load_state_dict(groups["network"])
        self.best_weights = {name: tensor.to(self.device) for name, tensor in groups["best"].items()}
        optimizer = self.optimizer.state_dict()
        for name, tensor in groups["optimizer"].items():
            index, _, key = name.partition(".")
            optimizer["state"].setdefault(int(index), {})[key] = tensor
        optimizer["param_groups"][0]["lr"] = state["lr"]
        self.optimizer.load_state_dict(optimizer)
        if self.scheduler:
            self.scheduler.load_state_dict(state["scheduler"])
        torch.set_rng_state(groups["rng"]["cpu"])
        if "cuda" in groups["rng"] and self.device.type == "cuda":
            torch.cuda.set_rng_state(groups["rng"]["cuda"], self.device)
        self.epoch, self.seconds, self.max_grad_norm = state["epoch"], state["seconds"], state["max_grad_norm"]
        self.last = Epoch(**state["last"]) if state["last"] else None
        self.best = Epoch(**state["best"]) if state["best"] else None


def _differs_in_training(network: nn.Module) -> bool:
    """Whether any part of the network drops something or normalizes by the batch."""
    return any(
        (isinstance(module, nn.Dropout) and module.p > 0) or isinstance(module, nn.modules.batchnorm._BatchNorm)
        for module in network.modules()
    )


def _merit(record: Epoch, select: str) -> tuple[float, float]:
    """Larger is better; the other validation metric breaks ties."""
    merit = (record.val_acc, -record.val_loss)
    return merit if select == "val_acc" else merit[::-1]


def _copy(weights: Tensors) -> Tensors:
    return {name: tensor.detach().clone() for name, tensor in weights.items()}
