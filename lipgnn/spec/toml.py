"""The one reader of TOML files: configurations, sweeps and studies. No torch here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from lipgnn.errors import UsageError


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """The content of a TOML file.

    Parameters
    ----------
    what : what the file should hold, for the error: "sweep", "configuration".

    Raises
    ------
    UsageError : it cannot be read.
    """
    try:
        return tomlkit.parse(path.read_text(encoding="utf-8")).unwrap()
    except (OSError, ValueError, RecursionError, TOMLKitError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"Cannot read the {what} {str(path)!r}: {reason}.") from error
