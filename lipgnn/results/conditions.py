"""Conditions on runs as people type them, `key=value,…`. No torch here."""

from __future__ import annotations

import os
from collections.abc import Collection

from lipgnn.catalog import DATASETS, FEATURE_NORMS, MODELS, NO_NORM, RESIDUALS, SCORE_NORMS
from lipgnn.errors import UsageError, unknown_name

_CATALOG_ORDER = {
    "dataset": list(DATASETS),
    "model": list(MODELS),
    "norm": [NO_NORM, *SCORE_NORMS, *FEATURE_NORMS],
    "residual": list(RESIDUALS),
}


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
    """Whether a text means this value of a field: equal as text, as a number, one of several, or as a path of data."""
    if isinstance(value, tuple):
        return text in value
    if str(value) == text or (key == "dataset" and value == os.path.abspath(text)):
        return True
    if not isinstance(value, int | float):
        return False
    try:
        return float(text) == value
    except ValueError:
        return False


def find_value(key: str, text: str, present: Collection) -> object:
    """The value of a field among those `present` that `text` means: equal as text, as a number, or as a path.

    Raises
    ------
    UsageError : there is none.
    """
    for value in present:
        if is_meant(key, text, value):
            return value
    single = {one for value in present for one in (value if isinstance(value, tuple) else [value])}
    raise unknown_name(f"value of {key}", text, [str(value) for value in sorted(single, key=lambda v: order(key, v))])


def order(field: str, value: object) -> tuple:
    """Sort key of a value: names as the catalog lists them, numbers by size, other text by letter."""
    if isinstance(value, int | float):
        return (1, value)
    known = _CATALOG_ORDER.get(field, [])
    parts = str(value).split("+")
    return (2, [known.index(part) if part in known else len(known) for part in parts], str(value))
