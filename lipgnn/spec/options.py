"""Options of runs as dataclass fields: a default, a help text, a group, and limits that are checked in one place."""

from __future__ import annotations

import math
import operator
from dataclasses import Field, field
from typing import Any

from lipgnn.errors import UsageError, unknown_name

# The groups of options, in the order in which help texts and result columns have them.
GROUPS = ("data", "network", "depth and norms", "training", "paths", "images", "compute")

_TYPES = {"str": str, "int": int, "float": float}
_WORDS = {str: "a text", int: "a whole number", float: "a number"}
# What the file system, torch and the columns of results can hold.
_USABLE = {
    str: ("a text without NUL", lambda text: "\0" not in text),
    int: ("a whole number below 2^63", lambda number: abs(number) < 2**63),
    float: ("a number", math.isfinite),
}
# Limits of numbers, in words, and what keeps them.
_BOUNDS = {"low": ("at least", operator.ge), "high": ("at most", operator.le), "below": ("below", operator.lt)}
_LONGEST = 80


def option(group: str, default: Any, description: str, **limits: Any) -> Any:
    """A dataclass field with its group, help text and limits.

    Parameters
    ----------
    group : one of GROUPS.
    limits : choices, low, high (both included), below (excluded); `or_number`, the type of number that may stand in
        the place of text, and `word`, that text where it is not the default; `syntax`, a function that refuses a text
        of another form than the option's own; `catalog`, the dictionary of entries that describes the choices; `names`,
        the dictionaries that describe what a text is joined from; `neutral`, the value that changes nothing, of an
        option that is younger than others: with it a run has the id that it had before, and results need no column for
        it.
    """
    if "catalog" in limits:
        limits.setdefault("choices", limits["catalog"])
    return field(default=default, metadata={"group": group, "help": description, **limits})


def task_option(task: str, default: Any, description: str, **limits: Any) -> Any:
    """An option that exists for one task alone; of runs of other tasks it has no value, which is None.

    Parameters
    ----------
    task : its name, which is that of the group.
    default : for runs of the task.
    limits : as those of `option`.
    """
    return option(task, None, description, task=task, own_default=default, neutral=None, **limits)


def default_of(option: Field) -> Any:
    """What an option is where nothing is said; of one task's own, for runs of that task."""
    return option.metadata.get("own_default", option.default)


def type_of(option: Field) -> type:
    """The type of an option's values."""
    return _TYPES[option.type]


def checked(option: Field, value: Any) -> Any:
    """The value of an option, converted from text where needed and checked against its limits.

    Raises
    ------
    UsageError : names the option, the value received and what is accepted.
    """
    name, limits = option.name, option.metadata
    if value is None and "task" in limits:
        return None
    if limits.get("or_number") and type(value) in (int, float):
        value = digits(_converted(name, type(value), value))
    parsed = _converted(name, type_of(option), value)
    if "choices" in limits and parsed not in limits["choices"]:
        raise unknown_name(f"value of {name}", parsed, limits["choices"])
    if not all(holds(parsed, limits[limit]) for limit, (_, holds) in _BOUNDS.items() if limit in limits):
        wanted = " and ".join(f"{words} {limits[limit]}" for limit, (words, _) in _BOUNDS.items() if limit in limits)
        raise UsageError(f"{name} must be {wanted}, got {shown(value)}.")
    if "syntax" in limits:
        limits["syntax"](parsed)
    return parsed


def digits(number: float) -> str:
    """A number as short as can be without another one being meant."""
    return str(number).removesuffix(".0")


def _converted(name: str, kind: type, value: Any) -> Any:
    # Numbers may be given as text; everything else must be what it is: no booleans, no fractions for whole numbers.
    if type(value) is kind or (kind is not str and isinstance(value, str)) or (kind is float and type(value) is int):
        try:
            parsed = kind(value)
        except (ValueError, OverflowError):
            parsed = None
        words, usable = _USABLE[kind]
        if parsed is not None and not usable(parsed):
            raise UsageError(f"{name} must be {words}, got {shown(value)}.")
        if parsed is not None:
            return parsed
    raise UsageError(f"{name} must be {_WORDS[kind]}, got {shown(value)}.")


def shown(value: Any) -> str:
    """A value in an error message; of a long one its beginning."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return "a value that is too long to show"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
