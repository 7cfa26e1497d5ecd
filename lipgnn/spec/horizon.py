"""How many steps a walk has, by name: `given`, or `shortest:X`; no torch here."""

from __future__ import annotations

import re

from lipgnn.errors import UsageError, did_you_mean

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
