"""Words for people: of numbers, and of what Python says where a file cannot be read."""

from __future__ import annotations

import json


def counted(number: int, noun: str) -> str:
    """A number and what it counts, in the singular where it is one: `1 run`, `3 runs`."""
    return f"{number:,} {noun if number == 1 else f'{noun}s'}"


def unreadable(error: Exception) -> str:
    """Why the content of a file could not be used, in words that go on a sentence."""
    if isinstance(error, OSError):
        return error.strerror or "the system refused"
    if isinstance(error, json.JSONDecodeError):
        return f"it is no JSON from line {error.lineno}, column {error.colno} on"
    if isinstance(error, UnicodeDecodeError):
        return "it is no text"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, KeyError):
        return f"it has no {error.args[0]!r}"
    return "it holds something else" if isinstance(error, TypeError | AttributeError) else str(error)
