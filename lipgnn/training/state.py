"""The state of a run, epoch by epoch: network, optimizer, selection by validation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from lipgnn.catalog import METRICS
from lipgnn.network.hops import Graphs
from lipgnn.norms import advance_all
from lipgnn.runtime import seed_all
from lipgnn.spec.run import RunSpec
from lipgnn.tasks import TaskData, find_task
from lipgnn.tasks.batches import WHOLE, Batch, Share, logits_of
from lipgnn.tasks.saved import Tensors, save_model
from lipgnn.training.distributed.division import divide, weight_of
from lipgnn.training.distributed.evaluation import divided_logits
from lipgnn.training.distributed.replica import replica
from lipgnn.training.distributed.team import Team
from lipgnn.training.divergence import Diverged, first_nonfinite_gradient, first_nonfinite_output
from lipgnn.training.learner import Learner
from lipgnn.training.selection import Epoch, is_better


class Training:
    """Everything of a run that changes from epoch to epoch.

    Parameters
    ----------
    spec : what to compute.
    dataset : the data of `spec`.
    device : where.
    weights : what the network starts from, if not from what is drawn.
    share : which of how many workers this is; they have a run together from `join` on.
    """

    # Whether any weight was changed since this was made.
    stepped = False

    def __init__(
        self,
        spec: RunSpec,
        dataset: TaskData,
        device: torch.device,
        weights: Tensors | None = None,
        share: Share = WHOLE,
    ):
        self.spec, self.dataset, self.device = spec, dataset, device
        self.task = find_task(dataset.task)
        self.team = Team()
        seed_all(spec.seed)
        self.network = self.task.network(spec, *dataset.shape).to(device)
        self.given = weights is not None
        if self.given:
            self.network.load_state_dict(weights)
        self.metric = METRICS[self.task.metric_for(spec.metric)]
        better = self.metric.higher_is_better
        self.learner = Learner(self.network, spec, higher_is_better=better, several=share.world > 1)
        self.batches = self.task.batches(spec, dataset, device)
        divide(self.batches, share, spec)
        self.labels, self.parts = self.batches.labels, self.batches.parts
        # Of all epochs: sums are rounded in another order by another number of threads. None where it has changed.
        self.threads: int | None = torch.get_num_threads()
        self.earlier_threads: int | None = None
        self.earlier_workers: int | None = None
        self.epoch = 0
        self.seconds = 0.0
        self.max_grad_norm = 0.0
        self.last: Epoch | None = None
        self.best: Epoch | None = None
        self.best_weights: Tensors = {}
        # Of the best epoch, what its task measures beside the score; from the outputs of the last evaluation.
        self.measures: dict[str, float] | None = None
        self._outputs = self._logits = None
        # Of the epochs since the last evaluation.
        self.unreported = {"grad_norm": 0.0, "seconds": 0.0}
        # Looked up once: a network keeps its tensors and changes what is in them.
        self._now = self.network.state_dict()
        self._before = _copy(self._now)
        # Where training and evaluation compute the same, the evaluation of an epoch is the forward of the next.
        same = self.learner.mean is None and not self.network.differs_in_training
        self._shares_forward = self.batches.shares_forward and same
        # What is called in training: the network, or its replica among those of other workers.
        self._forward: Callable[[Graphs, torch.Tensor], torch.Tensor] = self.network

    def join(self, team: Team) -> None:
        """Divide every step and every evaluation with others from here on; all have the weights of worker 0 then."""
        self.team = team
        if team.size > 1:
            self._forward = replica(self.network, team, self.learner.exchange)

    def begin(self) -> Epoch:
        """Evaluate the weights that a run starts from where these are worth something: epoch 0, maybe the best.

        Raises
        ------
        Diverged : as of `step`.
        """
        lr = self.learner.rate
        self.last = self._select(Epoch(0, **self._evaluate(), grad_norm=0.0, lr=lr, best_epoch=0, seconds=0.0))
        return self.last

    def step(self) -> Epoch | None:
        """Train for one epoch and, if it is time, evaluate; None if it is not.

        On a whole graph, the device is waited for twice: for the loss with the norm of its gradient, and for the
        metrics.

        Raises
        ------
        Diverged : the weights are those before the last step, whose loss and gradients were the last finite ones.
        """
        began = time.perf_counter()
        lr = self.learner.rate
        epoch = self.epoch + 1
        self.network.train()
        grad_norm = max(self._learn(batch) for batch in self.batches.epoch(epoch))
        due = epoch % self.spec.eval_every == 0 or epoch == self.spec.own_epochs
        found = self._evaluate() if due else None
        self.learner.end_epoch(found)
        self.epoch = epoch
        self.max_grad_norm = max(self.max_grad_norm, grad_norm)
        seconds = time.perf_counter() - began
        self.seconds += seconds
        so_far = self.unreported
        so_far = {"grad_norm": max(so_far["grad_norm"], grad_norm), "seconds": so_far["seconds"] + seconds}
        if found is None:
            self.unreported = so_far
            return None
        self.unreported = {"grad_norm": 0.0, "seconds": 0.0}
        self.last = self._select(Epoch(epoch, **found, **so_far, lr=lr, best_epoch=epoch))
        return self.last

    def _learn(self, batch: Batch) -> float:
        """One step on a batch; returns the norm of the gradient."""
        grad_norm = self._backward(batch)
        for kept, now in zip(self._before.values(), self._now.values(), strict=True):
            kept.copy_(now)
        self.learner.step()
        self.stepped = True
        # Here and not in the forward: blocks that are computed again must find the same vectors.
        advance_all(self.network)
        return grad_norm

    def _backward(self, batch: Batch) -> float:
        """Gradients of the loss on a batch of all workers, clipped; returns their norm before that."""
        self.learner.begin_step()
        self.team.counts = not batch.idle
        logits = self._forward(batch.graph, batch.features) if self._logits is None else self._logits
        self._logits = None
        loss, weight = self._loss(batch, logits), weight_of(batch, self.task, self.labels)
        if batch.among is not None:
            # The mean over workers is the gradient of the whole batch; who has nothing that counts adds zeros.
            loss = loss * (weight * self.team.size) if weight else 0 * batch.of_items(logits).sum()
        loss.backward()
        self.learner.end_backward()
        gradients = [p.grad for p in self.network.parameters() if p.grad is not None]
        norms = [torch.linalg.vector_norm(g, dtype=torch.float64) for g in gradients]
        total = torch.linalg.vector_norm(torch.stack(norms))
        loss_value, grad_norm = torch.stack([loss.detach().double(), total]).tolist()
        (loss_value,) = self.team.total([loss_value])
        if not math.isfinite(loss_value):
            raise Diverged(self._first_bad_output(batch))
        if not math.isfinite(grad_norm):
            raise Diverged(f"gradient of the {first_nonfinite_gradient(self.network) or 'loss'}")
        if 0 < self.spec.clip < grad_norm:
            for gradient in gradients:
                gradient.mul_(self.spec.clip / grad_norm)
        return grad_norm

    def example(self) -> tuple[Graphs, torch.Tensor, Callable[[torch.Tensor], torch.Tensor]]:
        """Graph and features of the first batch, and the loss on its logits."""
        batch = next(iter(self.batches.epoch(1)))
        return batch.graph, batch.features, lambda logits: self._loss(batch, logits)

    def recompute_blocks(self, every: int) -> None:
        """Keep the activations of every `every`-th block only; 0 keeps all."""
        self.network.recompute_every = every
        self.spec = self.spec.computed(recompute_every=str(every))

    @property
    def finished(self) -> bool:
        """Whether the epochs are used up, patience has run out, or there is nothing left to learn, or to learn with."""
        waited = self.epoch - self.best.epoch if self.best else 0
        learned = self.spec.select == "train_score" and self.best is not None
        learned = learned and self.best.train_score == self.metric.perfect
        out_of_patience = self.spec.patience > 0 and waited >= self.spec.patience
        frozen = self.learner.rate <= self.spec.stop_lr
        return self.epoch >= self.spec.own_epochs or out_of_patience or learned or frozen

    def _evaluate(self) -> dict[str, float]:
        """Losses and metrics without dropout; where an output is not finite, the last step is taken back."""
        with self.learner.evaluated():
            self._outputs = logits = self._all_logits()
        found = self._measured(logits) if self.team.leads else {}
        if self.team.size > 1:
            found = self.team.say(found)
        if not found.pop("finite"):
            with self.learner.evaluated():
                where = self._first_bad_output(*self.batches.everything())
            self.network.load_state_dict(self._before)
            raise Diverged(where)
        return found

    def _measured(self, logits: torch.Tensor) -> dict[str, float]:
        """Losses and metrics, and whether all outputs are `finite`; the device is waited for once."""
        found = {"finite": logits.isfinite().all().double()}
        for part, items in self.parts.items():
            own, labels = logits[items], self.labels[items]
            found[f"{part}_score"] = self.task.score(own, labels, self.spec.metric)
            if part != "test":
                found[f"{part}_loss"] = self.task.loss(own, labels).double()
        return dict(zip(found, torch.stack(list(found.values())).tolist(), strict=True))

    def _all_logits(self) -> torch.Tensor:
        """Those of all nodes, or graphs, as they are in evaluation."""
        if self._shares_forward:
            (batch,) = self.batches.everything()
            self._logits = self.network(batch.graph, batch.features)
            return self._logits.detach()
        self.network.eval()
        if self.team.size > 1:
            return divided_logits(self.network, self.batches, self.team)
        return logits_of(self.network, self.batches)

    def _loss(self, batch: Batch, logits: torch.Tensor) -> torch.Tensor:
        return self.task.loss(batch.of_items(logits), self.labels[batch.items])

    def _first_bad_output(self, *batches: Batch) -> str:
        """The first part of the network with one, in the batches of the first worker that has such."""
        found = (first_nonfinite_output(self.network, batch.graph, batch.features) for batch in batches)
        own = next(filter(None, found), "")
        texts = self.team.collect(own.encode())
        where = self.team.spread(next(filter(None, texts), b"loss")).decode()
        return f"output of the {where}"

    def last_good(self) -> Tensors:
        """After Diverged, the newest weights whose outputs are finite; where none are, those before the last step."""
        self.network.eval()
        with self.learner.evaluated():
            found = (first_nonfinite_output(self.network, one.graph, one.features) for one in self.batches.everything())
            if not any(found):
                return _copy(self.network.state_dict())
        return _copy(self._before)

    def _select(self, line: Epoch) -> Epoch:
        """Keep the weights if this epoch is the best so far by what `select` names alone; the earlier wins a tie.

        Worker 0 alone does so.
        """
        if not self.team.leads:
            return line
        if self.best is None or is_better(line, self.best, self.spec.select, self.metric):
            with self.learner.evaluated():
                self.best, self.best_weights = line, _copy(self.network.state_dict())
            test = self.parts["test"]
            self.measures = self.task.measures(self._outputs[test], self.labels[test])
            return line
        return replace(line, best_epoch=self.best.epoch)

    def measured_at_the_end(self) -> dict[str, float]:
        """What the task measures of the epoch selected; the network is left with its weights."""
        if self.best is None:
            return {}
        self.network.load_state_dict(self.best_weights)
        return {
            **(self.measures or {}),
            **self.task.final_measures(self.spec, self.network.eval(), self.batches),
        }

    @property
    def objective(self) -> float | None:
        """What training makes small, of the weights selected: the training loss and the L2 penalty."""
        return self.best.train_loss + self.learner.penalty(self.best_weights) if self.best else None

    @property
    def parameters(self) -> int:
        """The number of weights that are learned."""
        return sum(p.numel() for p in self.network.parameters())

    def save_best(self, path: Path) -> None:
        """Write the selected weights as a model file."""
        save_model(path, self.best_weights, spec=self.spec, dataset=self.dataset)


def _copy(weights: Tensors) -> Tensors:
    return {name: tensor.detach().clone() for name, tensor in weights.items()}
