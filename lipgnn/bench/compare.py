"""Several ways to do one thing, timed side by side in one process. No torch here."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from lipgnn.bench.rows import Row
from lipgnn.bench.spread import Spread

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


@dataclass(frozen=True)
class Effort:
    """How much to measure.

    Attributes
    ----------
    repeats : rounds that count; 0 measures no time.
    threads : of torch and of DGL.
    peak : also measure memory, each candidate in a process of its own.
    """

    repeats: int
    threads: int
    peak: bool = True


def interleave(steps: Mapping[Key, Step], repeats: int, tell: Tell) -> dict[Key, list[float]]:
    """Milliseconds of every step, round by round: one of each a round, after a round that only warms up.

    What disturbs the machine then disturbs all candidates alike, and ratios within a round hold what times do not.
    Every other round goes backwards, so that none is always the one to follow another.

    Parameters
    ----------
    tell : told what is measured next.
    """
    times: dict[Key, list[float]] = {key: [] for key in steps}
    for turn in range(repeats + 1 if repeats else 0):
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


def timed(template: Row, values: Sequence[float]) -> Row:
    """The template with median, least and largest of some times; without a time where there is none."""
    if not values:
        return template
    spread = Spread.of(values)
    return replace(template, ms=spread.median, low=spread.low, high=spread.high)


def rows_of(
    times: Mapping[Candidate, list[float]], peaks: Mapping[Candidate, float | None], template: Row
) -> list[Row]:
    """A row for every candidate, with what they share taken from the template."""
    return [
        timed(replace(template, what=each.what, norm=each.norm, peak_mb=peaks.get(each)), values)
        for each, values in times.items()
    ]


def ratio_rows(
    times: Mapping[Candidate, list[float]], pairs: Iterable[tuple[Candidate, Candidate]], template: Row
) -> list[Row]:
    """A row for every pair of which both were timed: the first to the second, round by round."""
    rows = []
    for above, below in pairs:
        if not (times.get(above) and times.get(below)):
            continue
        spread = Spread.of([a / b for a, b in zip(times[above], times[below], strict=True)])
        shared = above.norm or below.norm
        # Where the norms differ, they are what is compared, and no single one can stand in the column.
        alike = None in (above.norm, below.norm) or above.norm == below.norm
        what = f"{above.what} / {below.what}" if alike else f"{above} / {below}"
        rows.append(
            replace(
                template,
                what=what,
                norm=shared if alike else None,
                ratio=spread.median,
                low=spread.low,
                high=spread.high,
            )
        )
    return rows


def pairs_of(
    names: Iterable[tuple[str, str]], norms: Iterable[str], *, across: Iterable[str]
) -> list[tuple[Candidate, Candidate]]:
    """The pairs worth a ratio.

    Parameters
    ----------
    names : each at one norm, or against what has none.
    across : compared at every other norm with itself at the first.
    """
    norms = list(norms)
    pairs = []
    for above, below in names:
        for norm in norms:
            pairs += [(Candidate(above, norm), Candidate(below, other)) for other in (norm, None)]
    pairs += [(Candidate(what, norm), Candidate(what, norms[0])) for what in across for norm in norms[1:]]
    return pairs
