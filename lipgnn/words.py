"""Words that depend on a number."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """A number and what it counts, in the singular where it is one: `1 run`, `3 runs`."""
    return f"{number:,} {noun if number == 1 else f'{noun}s'}"
