"""Something that can be chosen by name."""

from __future__ import annotations

import importlib
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from lipgnn.errors import unknown_name


@dataclass(frozen=True)
class Entry:
    """Something that can be chosen by name.

    Attributes
    ----------
    description : one line for help texts and tables.
    defaults : run options that take another value than the built-in one when this entry is chosen.
    implementation : the class that does it, as "module:Class"; it is imported by `load`, when it is first needed.
    """

    description: str
    defaults: dict[str, Any] = field(default_factory=dict)
    implementation: str = ""

    def load(self) -> Any:
        """The class of this entry."""
        return load_class(self.implementation)


def load_class(implementation: str) -> Any:
    """The class called "module:Class", imported now."""
    module, _, name = implementation.partition(":")
    return getattr(importlib.import_module(module), name)


def check_name(kind: str, received: str, valid: Collection[str]) -> None:
    """Raise the error of `unknown_name` unless `received` is in `valid`."""
    if received not in valid:
        raise unknown_name(kind, received, valid)
