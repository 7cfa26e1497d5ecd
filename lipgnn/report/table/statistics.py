"""Mean, sample standard deviation and the paired difference."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean."""
    return math.fsum(values) / len(values)


def sample_std(values: Sequence[float]) -> float | None:
    """The sample standard deviation (divisor n - 1); None for fewer than two values."""
    if len(values) < 2:
        return None
    center = mean(values)
    return math.sqrt(math.fsum((value - center) ** 2 for value in values) / (len(values) - 1))


@dataclass(frozen=True)
class Difference:
    """A mean paired difference with its 95 % confidence interval and two-sided p-value of the paired t-test.

    Interval and p-value are None for fewer than two pairs, and where all pairs differ by the same amount.
    """

    mean: float
    low: float | None
    high: float | None
    p: float | None
    n: int


def paired_difference(ours: Mapping[Hashable, float], baseline: Mapping[Hashable, float]) -> Difference | None:
    """The difference over the keys both have, or None if there is none.

    Parameters
    ----------
    ours, baseline : a value for every key, e.g. for every seed.
    """
    pairs = [value - baseline[key] for key, value in ours.items() if key in baseline]
    if not pairs:
        return None
    center, spread, n = mean(pairs), sample_std(pairs), len(pairs)
    # Differences that are equal but for the last bit have no spread worth dividing by.
    if spread is None or spread <= 1e-12 * max(map(abs, pairs)):
        return Difference(center, None, None, None, n)
    from scipy.special import stdtr, stdtrit

    error = spread / math.sqrt(n)
    reach = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * error
    p = 2 * float(stdtr(n - 1, -abs(center) / error))
    return Difference(center, center - reach, center + reach, p, n)
