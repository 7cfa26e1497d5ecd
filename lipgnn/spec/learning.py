"""Which options of training go together, and where the theory of what they do ends; no torch here."""

from __future__ import annotations

from typing import Protocol

from lipgnn.catalog import ALL
from lipgnn.errors import UsageError
from lipgnn.spec.compression import HALF, QSGD, parse_compress


class Learning(Protocol):
    """How weights are changed, by the names it has in RunSpec."""

    split: str
    optimizer: str
    compress: str
    compress_memory: str
    compress_scale: str
    lr: float
    schedule: str
    stop_lr: float
    shift: float


def check_learning(spec: Learning) -> None:
    """Refuse options of training that contradict each other, or that would do nothing.

    Raises
    ------
    UsageError : says which, and what to do.
    """
    compression = parse_compress(spec.compress)
    if spec.compress_memory == "off" and (compression is None or compression.kind in (HALF, QSGD)):
        raise UsageError(
            f"--compress-memory off forgets what is left out of gradients, and --compress {spec.compress} keeps none.",
            "Leave it out, or use --compress topk:R, randk:R or powersgd:RANK.",
        )
    if spec.compress_scale != "lr" and not (compression and compression.sparse and spec.compress_memory == "on"):
        raise UsageError(
            f"--compress-scale {spec.compress_scale} is about what memory keeps of gradients, and "
            f"--compress {spec.compress} with --compress-memory {spec.compress_memory} has no such memory.",
            "Leave it out, or use --compress topk:R or randk:R.",
        )
    if spec.shift and spec.schedule != "inverse" and spec.optimizer != "memsgd":
        raise UsageError(
            f"--shift {spec.shift:g} is of schedule inverse and of optimizer memsgd, and there is neither.",
            "Leave it out, or use --schedule inverse.",
        )
    if spec.stop_lr and spec.schedule == "none":
        raise UsageError(
            f"--stop-lr {spec.stop_lr:g} waits until the learning rate has been lowered, and --schedule none keeps it.",
            "Leave it out, or use --schedule plateau.",
        )
    if spec.stop_lr >= spec.lr:
        raise UsageError(
            f"--stop-lr {spec.stop_lr:g} would stop before the first step, because the learning rate is {spec.lr:g}.",
            "Use a smaller one.",
        )


def learning_cautions(spec: Learning) -> list[str]:
    """What whoever starts a run should know of how it learns, a sentence each."""
    found = [theory_caution(spec)]
    if spec.split == ALL:
        found.append("Split all tests on the nodes that it trains on: its scores say nothing about other nodes.")
    return [caution for caution in found if caution]


def theory_caution(spec: Learning) -> str | None:
    """A sentence for whoever compresses gradients where no theorem says that it converges; None where one does.

    The theorem of Stich et al. (2018) is of SGD on strongly convex losses; later work on error feedback has non-convex
    ones, and none has Adam.
    """
    compression = parse_compress(spec.compress)
    if compression is None:
        return None
    if compression.sparse and spec.compress_memory == "off":
        return (
            f"--compress {spec.compress} without memory loses what it leaves out, and training may end far from a "
            "minimum."
        )
    if spec.optimizer == "adam":
        return (
            f"No theory covers --compress {spec.compress} with Adam: it holds for SGD, so compare the result with "
            "--compress none."
        )
    return None
