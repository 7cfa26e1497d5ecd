"""What the course of a run says: where it diverged and why, or that it was stopped while it still learned.

No torch here, so that a run that ends can say at once what is worth trying.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lipgnn.diagnose.findings import Finding, Option, fitting
from lipgnn.diagnose.verdict import OPTIONS
from lipgnn.results.run import Run
from lipgnn.spec.options import digits
from lipgnn.spec.run import RunSpec
from lipgnn.spec.start import COMPRESSED, SCRATCH

# Of the epochs, the last ones: what the loss does there is compared with what it did on the whole.
LATE = 0.2
# Of the mean fall per epoch of the training loss: a run whose loss falls late at half of that pace or faster was
# stopped on its way down. An exponential fall that has come to 1% of its start falls late at a twentieth of it.
STILL_FALLING = 0.5
# Of the first loss, that it must have lost on the whole: less is rounding.
LEAST_FALL = 1e-6
# The same per epoch: a loss that falls more slowly than this takes hundreds of epochs, and larger steps as well.
SLOW_FALL = 1e-3
# Of the way from chance to a perfect score on the training part: below that, most is still to be learned.
LITTLE_LEARNED = 0.5

_MORE_EPOCHS, _FASTER = 4, 10
_SLOWER = 5
_CLIP = 1.0


@dataclass(frozen=True)
class Course:
    """How a run ended.

    Attributes
    ----------
    result : its row, with `diverged_at` and `diverged_untrained`.
    log : a line for every epoch that was evaluated.
    """

    result: Mapping[str, Any]
    log: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, model: Path | None) -> Course | None:
        """That of the finished run whose folder a model file is in; None where it is in none."""
        if model is None or not (run := Run(model.parent)).spec_path.exists():
            return None
        result = run.result()
        return None if result is None else cls(result, run.read_log())


def judge_course(course: Course, spec: RunSpec, chance: float | None) -> list[Finding]:
    """What is wrong with how a run ended, if anything is.

    Parameters
    ----------
    chance : the training score of whoever guesses; None where that cannot be said.
    """
    if course.result["status"] == "diverged":
        return [Finding("diverged", None, divergence_words(course.result), options_after(course.result, spec))]
    stopped = _stopped_early(course, spec, chance)
    return [] if stopped is None else [stopped]


def options_after(result: Mapping[str, Any], spec: RunSpec) -> tuple[Option, ...]:
    """What is worth trying after a run diverged, by its cause: only after a step can a smaller one help."""
    if not _untrained(result):
        return tuple(fitting([_slower(spec), _clipped(spec)], spec))
    if spec.start != SCRATCH:
        return ()
    wanted = OPTIONS["exploding"]
    if "encoder" in str(result["diverged_at"]):
        # Nothing has been averaged or added up there: it is the features that are too large.
        scale = "brings every feature to mean 0 and standard deviation 1, so that none is too large for float32"
        wanted = (Option({"features": "standard"}, scale),)
    return tuple(fitting(wanted, spec))


def _slower(spec: RunSpec) -> Option:
    why = f"takes steps {_SLOWER} times smaller, since these steps led to numbers that are not finite"
    return Option({"lr": digits(float(f"{spec.lr / _SLOWER:.3g}"))}, why)


def _clipped(spec: RunSpec) -> Option:
    clip = min(spec.clip / _SLOWER, _CLIP) if spec.clip else _CLIP
    return Option({"clip": digits(clip)}, "bounds the length of the gradient, so that no single step leads far away")


def _untrained(result: Mapping[str, Any]) -> bool:
    """Whether it diverged before any weight was changed."""
    return bool(result.get("diverged_untrained", not result["epochs_run"]))


def divergence_of(model: Path) -> str | None:
    """That the run of a model file diverged, and of which of its states the model is; None where it did not."""
    course = Course.of(model)
    if course is None or course.result["status"] != "diverged":
        return None
    last_good = model.name == Run(model.parent).last_good_path.name
    state = "its last good state" if last_good else f"the best of its epochs, {course.result['best_epoch']}"
    return f"{divergence_words(course.result)} This model is {state}."


def divergence_words(result: Mapping[str, Any]) -> str:
    """Where and when a run diverged, and what that means for a remedy."""
    where = result.get("diverged_at") or "a number"
    if _untrained(result):
        cause = "so a smaller learning rate changes nothing"
        if result["start"] != SCRATCH:
            cause = "so it is due to the weights that it starts from: start from others, such as --at best"
        return f"The run diverged before its first step (not finite: {where}). No step was taken, {cause}."
    return (
        f"The run diverged in epoch {result['epochs_run'] + 1} (not finite: {where}), after steps at a learning rate "
        f"of {result['lr']:g} with a gradient of length {result['max_grad_norm']:.2g} at most."
    )


def _stopped_early(course: Course, spec: RunSpec, chance: float | None) -> Finding | None:
    """That a run used up its epochs while it still learned, and has learned little."""
    if course.result["epochs_run"] < spec.own_epochs or chance is None or len(course.log) < 2:
        return None
    score = course.log[-1]["train_score"]
    learned = (score - chance) / (1 - chance) if chance < 1 else 1.0
    pace = late_pace(course.log)
    if learned >= LITTLE_LEARNED or pace is None or pace < STILL_FALLING:
        return None
    first, last = course.log[0]["train_loss"], course.log[-1]["train_loss"]
    evidence = (
        f"The run was stopped after {course.result['epochs_run']} epochs while its training loss still fell (from "
        f"{first:.5g} to {last:.5g}, in the last fifth at {pace:.0%} of its mean pace, where {STILL_FALLING:.0%} is "
        f"much), and its training score of {score:.1%} is {learned:.0%} of the way from chance ({chance:.1%}) to "
        f"perfect, where {LITTLE_LEARNED:.0%} is little."
    )
    slow = (first - last) / (course.log[-1]["epoch"] - course.log[0]["epoch"]) < SLOW_FALL * abs(first)
    options = [_longer(spec), _faster(spec)] if slow else [_longer(spec)]
    return Finding("undertrained", None, evidence, tuple(options))


def _longer(spec: RunSpec) -> Option:
    name = "finetune" if spec.start == COMPRESSED else "epochs"
    why = "gives it time to learn; `lipgnn train` goes on from this run where its schedule allows it"
    return Option({name: str(_MORE_EPOCHS * spec.own_epochs)}, why)


def _faster(spec: RunSpec) -> Option:
    why = f"takes larger steps, since the loss falls by less than {SLOW_FALL:.1%} per epoch"
    return Option({"lr": digits(float(f"{_FASTER * spec.lr:.3g}"))}, why)


def late_pace(log: Sequence[Mapping[str, Any]]) -> float | None:
    """How fast the training loss falls in the last epochs, over its mean fall per epoch; None if it has not fallen."""
    first, last = log[0], log[-1]
    epochs = last["epoch"] - first["epoch"]
    fall = first["train_loss"] - last["train_loss"]
    if not epochs or fall < LEAST_FALL * abs(first["train_loss"]):
        return None
    before = [line for line in log[:-1] if line["epoch"] <= last["epoch"] - LATE * epochs][-1]
    late = (before["train_loss"] - last["train_loss"]) / (last["epoch"] - before["epoch"])
    return late / (fall / epochs)
