"""Conditions on runs as people type them, `key=value,…`. No torch here."""

from __future__ import annotations

import os
from collections.abc import Collection

from lipgnn.errors import UsageError, unknown_name


def split_condition(condition: str, fields: Collection[str]) -> tuple[str, list[str]]:
    """The field of a condition `key=value` or `key=value,value`, and the texts of its values.

    Raises
    ------
    UsageError : it has another form, or an unknown key.
    """
    key, equals, wanted = condition.partition("=")
    if not equals:
        raise UsageError(f"--where takes key=value, got {condition!r}.", "For example: --where lr=0.005")
    if key not in fields:
        raise unknown_name("field", key, fields)
    return key, wanted.split(",")


def is_meant(key: str, text: str, value: object) -> bool:
    """Whether a text means this value of a field: equal as text, as a number, or, of a data set, as a path."""
    if str(value) == text or (key == "dataset" and value == os.path.abspath(text)):
        return True
    if not isinstance(value, int | float):
        return False
    try:
        return float(text) == value
    except ValueError:
        return False
