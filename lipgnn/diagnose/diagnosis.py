"""A whole diagnosis: the profile of a network, the verdict on it, and what else was asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lipgnn.datasets import Dataset
from lipgnn.diagnose.ablate import Variant, ablate
from lipgnn.diagnose.course import Course, judge_course
from lipgnn.diagnose.data import WholeData
from lipgnn.diagnose.findings import Finding, Verdict
from lipgnn.diagnose.paths import Part, path_shares, single_paths
from lipgnn.diagnose.profile import Profile, profile
from lipgnn.diagnose.reach import numbers_of
from lipgnn.diagnose.sent import sent_parts
from lipgnn.diagnose.split import judge_split, look_at_split
from lipgnn.diagnose.subject import INITIAL, Subject
from lipgnn.diagnose.verdict import judge
from lipgnn.errors import UsageError
from lipgnn.measures.reach import look_far
from lipgnn.runtime import choose_device
from lipgnn.tasks import find_task


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What was found in a network, and what it means.

    Attributes
    ----------
    device : on which it was computed.
    variants : the network with parts switched off; None if that was not asked for.
    paths : its output as a sum over paths; None if that was not asked for.
    reach : how far it looks (see `lipgnn.diagnose.reach`); None if that was not asked for.
    sent : how much of its gradients was ever sent (see `lipgnn.diagnose.sent`); None if all was.
    """

    subject: Subject
    device: str
    profile: Profile
    verdict: Verdict
    variants: list[Variant] | None = None
    paths: dict[str, Any] | None = None
    reach: dict[str, Any] | None = None
    sent: list[dict[str, Any]] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values: the object of `lipgnn diagnose --json`."""
        subject, verdict = self.subject, self.verdict
        further = {} if self.variants is None else {"ablation": [asdict(variant) for variant in self.variants]}
        return {
            "verdict": verdict.name,
            "from_layer": verdict.layer,
            "evidence": list(verdict.evidence),
            "findings": [{"name": f.name, "layer": f.layer, "evidence": f.evidence} for f in verdict.findings],
            "options": [{"option": o.words, "why": o.why, "study": o.study} for o in verdict.options],
            "model": None if subject.path is None else str(subject.path),
            "at": subject.at,
            "spec": subject.spec.to_dict(),
            "fingerprint": subject.dataset.fingerprint,
            "device": self.device,
            **asdict(self.profile),
            **further,
            **({} if self.paths is None else {"paths": self.paths}),
            **({} if self.reach is None else {"reach": self.reach}),
            **({} if self.sent is None else {"sent": self.sent}),
        }


def diagnose(
    subject: Subject,
    device: str = "auto",
    *,
    certify: bool = False,
    every_layer: bool = False,
    without: Sequence[str] = (),
    paths: int | None = None,
    path_length: int | None = None,
    targets: int | None = None,
) -> Diagnosis:
    """Look at a network layer by layer.

    Parameters
    ----------
    certify, every_layer : see `lipgnn.diagnose.profile.profile`.
    without : parts to switch off (see `lipgnn.diagnose.ablate.ablate`).
    paths : decompose the output by the length of paths, and look at so many single paths.
    path_length : of the single paths; any if None.
    targets : find how far the outputs of so many nodes look.

    Raises
    ------
    UsageError : a part that cannot be switched off, or a network whose output is no sum over paths, or not of nodes.
    """
    _refuse_others(subject)
    chosen, _ = choose_device(device)
    data = WholeData.of(subject.spec, subject.dataset, chosen)
    network = subject.network.to(chosen)
    found = profile(network, data, certify=certify, every_layer=every_layer)
    far = None if targets is None else numbers_of(look_far(network, data.batch, targets))
    verdict = judge(
        found.layers,
        spec=subject.spec,
        second_eigenvalue=found.second_eigenvalue,
        components=found.components,
        accuracy=found.accuracy if subject.at != INITIAL else None,
        reach=far,
        further=_further(subject, data),
    )
    variants = ablate(network, data, without) if without else None
    summed = None if paths is None else _paths(subject, data, paths, path_length)
    sent = sent_parts(subject.path) if subject.at != INITIAL else None
    return Diagnosis(subject, str(chosen), found, verdict, variants, summed, far, sent)


def _further(subject: Subject, data: WholeData) -> list[Finding]:
    """What is wrong with the split, and with how the run ended, beside what depth does."""
    found = judge_split(look_at_split(subject.dataset), subject.spec) if isinstance(subject.dataset, Dataset) else []
    course = None if subject.at == INITIAL else Course.of(subject.path)
    return found + (judge_course(course, subject.spec, data.chance) if course else [])


def _refuse_others(subject: Subject) -> None:
    if not subject.spec.layers:
        raise UsageError(
            "A diagnosis is of what layers do, and this network is one linear map.", "Use --layers 1 or more."
        )
    if (outputs := find_task(subject.dataset.task).outputs) != "nodes":
        raise UsageError(
            f"A diagnosis is of outputs of nodes, and those of data set {subject.dataset.name!r} are of {outputs}.",
            "Train an encoder with layers with --record similarity, and give --over epochs.",
        )


def _paths(subject: Subject, data: WholeData, count: int, length: int | None) -> dict[str, Any]:
    """Shares of the output by the length of paths, of the biases, and of single paths."""
    where = (subject.network, data.graph, data.features)
    shares = path_shares(*where)
    single = single_paths(*where, count=count, length=length) if count else {}
    return {
        "lengths": [
            {"length": length, "paths": shares.counts[length], **_numbers(part)}
            for length, part in shares.lengths.items()
        ],
        "bias": _numbers(shares.bias),
        "error": shares.error,
        "single": [{"heads": list(path), **_numbers(part)} for path, part in single.items()],
    }


def _numbers(part: Part) -> dict[str, float | None]:
    """Those of a part of the output; a part that is zero has no residual."""
    return {name: value if math.isfinite(value) else None for name, value in asdict(part).items()}
