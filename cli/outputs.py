"""Files that the user names to be written, looked at before the work begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lipgnn.errors import UsageError
from lipgnn.report.figures.canvas import SUFFIXES


class OutputFile(click.Path):
    """A file to write: its folder is there, and it is none itself.

    Raises
    ------
    UsageError : it cannot be written there.
    """

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = super().convert(value, param, ctx)
        try:
            if path.is_dir():
                raise UsageError(f"{str(path)!r} is a folder.", "Name a file in it.")
            if not path.parent.is_dir():
                raise UsageError(
                    f"There is no folder {str(path.parent)!r} to write {path.name!r} in.", "Make it first."
                )
            # A name that is too long is found out by asking for it.
            path.exists()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UsageError(f"Cannot write {str(path)!r}: {reason}.", "Choose another name.") from error
        return path


def check_picture(figure: str, output: Path | None) -> None:
    """Refuse a figure without a file for pictures.

    Raises
    ------
    UsageError : there is no file, or it is for something else.
    """
    if output is None or output.suffix.lower().removeprefix(".") not in SUFFIXES:
        pictures = ", ".join(f".{suffix}" for suffix in SUFFIXES)
        raise UsageError(f"--figure needs -o FILE with {pictures}.", f"For example: -o {figure}.pdf")
