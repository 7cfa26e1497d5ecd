"""Several ways to do one thing, timed side by side in one process. No torch before something is measured."""

from __future__ import annotations

import gc
import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from lipgnn.bench.measurements import Measurement, Range, Report
from lipgnn.bench.peak import peak_in_child
from lipgnn.errors import UsageError

Step = Callable[[], object]
Tell = Callable[[str], None]
Key = TypeVar("Key", bound=Hashable)


class Candidate(NamedTuple):
    """One of the things compared.

    Attributes
    ----------
    what : its name.
    norm : its norm; None where a norm makes no difference to it.
    """

    what: str
    norm: str | None = None

    def __str__(self) -> str:
        return f"{self.what} {self.norm}" if self.norm else self.what


class Comparison(ABC):
    """What is compared, and how each of it is made.

    Attributes
    ----------
    module : `python -m module JOB` measures the memory of a job.
    template : what all measurements share.
    norms : each for everything that has a place for one.
    pairs : names of which the ratio says something.
    """

    module: str
    template: Measurement
    norms: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]

    @abstractmethod
    def obstacle(self, what: str) -> str | None:
        """Why a thing cannot be measured; None if it can."""

    @abstractmethod
    def norms_of(self, what: str) -> tuple[str | None, ...]:
        """The norms at which a thing is measured; (None,) for one that has no place for a norm."""

    @abstractmethod
    def job(self, candidate: Candidate) -> dict[str, Any] | None:
        """What another process has to know to measure the memory; None where memory is not asked for."""

    @abstractmethod
    def steps(self, candidates: list[Candidate]) -> dict[Candidate, Step]:
        """What is timed, made together because all share their inputs."""

    def candidates(self, whats: Iterable[str]) -> tuple[list[Candidate], list[str]]:
        """What can be measured, each with every norm it has a place for, and a line for what cannot.

        Raises
        ------
        UsageError : nothing can.
        """
        reasons = {what: self.obstacle(what) for what in whats}
        left_out = [f"{what} is left out: {reason}." for what, reason in reasons.items() if reason]
        possible = [what for what, reason in reasons.items() if not reason]
        if not possible:
            raise UsageError(" ".join(["Nothing is left to measure.", *left_out]), "Ask for more with --what.")
        return [Candidate(what, norm) for what in possible for norm in self.norms_of(what)], left_out

    def times(self, whats: Iterable[str], repeats: int, threads: int, tell: Tell) -> Report:
        """Time all candidates side by side; raises as `candidates`. `tell` is told what is measured next."""
        candidates, left_out = self.candidates(whats)
        set_threads(threads)
        times = interleave(self.steps(candidates), repeats, tell)
        template = replace(self.template, repeats=repeats, threads=threads)
        return Report([*measurements_of(times, template), *ratios_of(times, self.pairs, template)], left_out)

    def peaks(self, whats: Iterable[str], threads: int, tell: Tell) -> Report:
        """Measure the memory of every candidate in a process of its own; raises as `candidates`."""
        candidates, left_out = self.candidates(what for what in whats if self.job(Candidate(what, self.norms[0])))
        template = replace(self.template, threads=threads)
        measured = []
        for candidate in candidates:
            tell(f"{candidate}, memory")
            peak = peak_in_child(self.module, self.job(candidate), threads)
            measured.append(replace(template, what=candidate.what, norm=candidate.norm, peak_mb=peak))
        return Report(measured, left_out)


def interleave(steps: Mapping[Key, Step], repeats: int, tell: Tell) -> dict[Key, list[float]]:
    """Milliseconds of every step, round by round: one of each a round, after a round that only warms up.

    What disturbs the machine then disturbs all candidates alike, and ratios within a round hold what times do not.
    Every other round goes backwards, so that none is always the one to follow another.
    """
    times: dict[Key, list[float]] = {key: [] for key in steps}
    for turn in range(repeats + 1):
        # Garbage of a round is not collected on the time of the next.
        gc.collect()
        for key in steps if turn % 2 == 0 else reversed(steps):
            tell(f"{key}, {f'round {turn} of {repeats}' if turn else 'warming up'}")
            began = time.perf_counter()
            result = steps[key]()
            elapsed = time.perf_counter() - began
            # Held until here: giving back a result is no part of computing it.
            del result
            if turn:
                times[key].append(1000 * elapsed)
    return times


def measurements_of(times: Mapping[Candidate, list[float]], template: Measurement) -> list[Measurement]:
    """Median, least and largest time of every candidate, with what they share taken from the template."""
    ranges = {candidate: Range.of(values) for candidate, values in times.items()}
    return [
        replace(template, what=each.what, norm=each.norm, ms=found.median, low=found.low, high=found.high)
        for each, found in ranges.items()
    ]


def ratios_of(
    times: Mapping[Candidate, list[float]], pairs: Collection[tuple[str, str]], template: Measurement
) -> list[Measurement]:
    """Ratios round by round: of pairs at one norm, or against what has none; of one thing, a norm to an earlier one."""
    ratios = []
    order = list(times)
    for above, below in itertools.permutations(order, 2):
        alike = None in (above.norm, below.norm) or above.norm == below.norm
        of_norms = above.what == below.what and order.index(above) > order.index(below)
        if not (of_norms or (alike and (above.what, below.what) in pairs)):
            continue
        found = Range.of([a / b for a, b in zip(times[above], times[below], strict=True)])
        # Where the norms differ, they are what is compared, and no single one can stand in the column.
        what = f"{above} / {below}" if of_norms else f"{above.what} / {below.what}"
        norm = None if of_norms else above.norm or below.norm
        ratios.append(replace(template, what=what, norm=norm, ratio=found.median, low=found.low, high=found.high))
    return ratios


def set_threads(threads: int) -> None:
    """Let torch and DGL, which have their own counts, use so many threads."""
    import torch

    from lipgnn.runtime import dgl

    torch.set_num_threads(threads)
    dgl.utils.set_num_threads(threads)
