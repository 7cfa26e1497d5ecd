"""What a diagnosis finds: what is wrong, what shows it, and what is worth trying. No torch here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lipgnn.errors import UsageError
from lipgnn.spec.run import RunSpec

HEALTHY = "healthy"


@dataclass(frozen=True)
class Option:
    """Something worth trying: values of a run, why, and the study in results/ that backs it, if one does."""

    values: Mapping[str, str]
    why: str
    study: str | None = None

    @property
    def words(self) -> str:
        """The values as they are typed."""
        return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in self.values.items())

    @property
    def reason(self) -> str:
        """Why, and the study."""
        return self.why + (f" (study {self.study})" if self.study else "")


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    Attributes
    ----------
    name : of what is wrong.
    layer : from which layer on; None where there is no single one.
    evidence : a sentence with the number that shows it.
    options : what is worth trying where no list of the verdict has it.
    """

    name: str
    layer: int | None
    evidence: str
    options: tuple[Option, ...] = ()

    @property
    def words(self) -> str:
        """As in "over-smoothed from layer 12"."""
        return self.name if self.layer is None else f"{self.name} from layer {self.layer}"


@dataclass(frozen=True)
class Verdict:
    """What is wrong with a network, the gravest first; nothing is: healthy.

    Attributes
    ----------
    findings : what was found.
    evidence : sentences, those of the findings first.
    options : what is worth trying.
    """

    findings: tuple[Finding, ...]
    evidence: tuple[str, ...]
    options: tuple[Option, ...]

    @property
    def name(self) -> str:
        """That of the gravest finding, or healthy."""
        return self.findings[0].name if self.findings else HEALTHY

    @property
    def layer(self) -> int | None:
        """From which layer on, where that can be said."""
        return self.findings[0].layer if self.findings else None

    @property
    def words(self) -> str:
        """All findings, as in "vanishing; over-smoothed from layer 12"."""
        return "; ".join(finding.words for finding in self.findings) or HEALTHY


def fitting(options: Sequence[Option], spec: RunSpec | None) -> list[Option]:
    """Those that would change the run and that it can have."""
    if spec is None:
        return list(options)
    fitting = []
    for option in options:
        try:
            changed = spec.with_values(**option.values)
        except UsageError:
            continue
        if changed != spec:
            fitting.append(option)
    return fitting
