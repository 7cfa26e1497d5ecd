"""What is known after an epoch, and which of two epochs is the better one."""

from __future__ import annotations

from dataclasses import dataclass

from lipgnn.catalog import MetricEntry

# An evaluation is better by its training score only where it is by more than this (Alon & Yahav 2021).
LEAST_GAIN = 1e-4


@dataclass(frozen=True)
class Epoch:
    """What came of the epochs since the last evaluation; also one line of log.jsonl.

    Losses and scores, by the metric of the task, are of the updated weights, without dropout. The norm of the gradient
    is the largest of all steps.
    """

    epoch: int
    train_loss: float
    train_score: float
    val_loss: float
    val_score: float
    test_score: float
    grad_norm: float
    lr: float
    best_epoch: int
    seconds: float


def is_better(line: Epoch, best: Epoch, select: str, metric: MetricEntry) -> bool:
    """Whether an epoch is better than the best so far, by what `select` names; test scores are never looked at.

    By validation the other of its numbers breaks ties; by the training score a gain has to be more than nothing.

    The last gain is one however small: at a perfect score there is nothing left to learn. By `last`, every epoch is
    better than those before it.
    """
    if select == "last":
        return True
    sign = 1 if metric.higher_is_better else -1
    if select == "train_score":
        gain = sign * (line.train_score - best.train_score)
        return gain > LEAST_GAIN or (gain > 0 and line.train_score == metric.perfect)
    merit, former = ((sign * one.val_score, -one.val_loss) for one in (line, best))
    return merit > former if select == "val_score" else merit[::-1] > former[::-1]
