"""How many steps a walk has: by name, `given` or `shortest:X`, and in ranges; no torch here."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lipgnn.errors import UsageError, did_you_mean

_GROUPS = 8
_HORIZON = re.compile(r"given|shortest:\d+(\.\d+)?", re.ASCII)


def check_horizon(text: str) -> None:
    """Refuse a horizon that is none.

    Raises
    ------
    UsageError : says which there are.
    """
    if not _HORIZON.fullmatch(text):
        raise UsageError(
            f"horizon must be given or shortest:X with a number X, got {text!r}.",
            f"{did_you_mean(text.partition(':')[0], ('given', 'shortest'))}Use --horizon shortest:1.1, say.",
        )


def horizon_groups(windows: Mapping[int, int]) -> list[tuple[int, int]]:
    """The ranges of horizons that are shown together, each by its first and last, in their order.

    Up to eight different horizons stand each for themselves. Of more, horizon h is in group
    ⌊8 (windows with a smaller horizon + half of those with h) / windows⌋, so that groups have about as many windows as
    each other, and equal horizons are never torn apart.

    Parameters
    ----------
    windows : how many have each horizon.
    """
    if len(windows) <= _GROUPS:
        return [(horizon, horizon) for horizon in sorted(windows)]
    groups: dict[int, list[int]] = {}
    before, total = 0, sum(windows.values())
    for horizon in sorted(windows):
        groups.setdefault(_GROUPS * (2 * before + windows[horizon]) // (2 * total), []).append(horizon)
        before += windows[horizon]
    return [(group[0], group[-1]) for group in groups.values()]
