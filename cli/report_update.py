"""`lipgnn report --update FILE.md`: the tables of a page, printed anew by the commands that stand above them."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import click
from click.core import ParameterSource

from cli import console
from lipgnn.errors import UsageError
from lipgnn.files import write_atomic


def update_page(ctx: click.Context, path: Path) -> int:
    """Write the page again if what its commands print has changed.

    Parameters
    ----------
    ctx : of the command `report`, which also prints the tables.
    """
    from lipgnn.report.view.page_tables import update_tables

    for name in ctx.params:
        if name != "update" and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UsageError("--update takes no other option.", "The page says what each of its tables is of.")
    try:
        before = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"Cannot read the page {str(path)!r}: {error}.") from error

    def run(words: list[str]) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
            ctx.command.main(words, prog_name=ctx.command_path, standalone_mode=False)
        return out.getvalue()

    after, tables = update_tables(before, run)
    if after != before:
        write_atomic(path, after.encode())
    console.note(f"{tables} table(s) in {str(path)!r}: {'as printed' if after == before else 'printed anew'}.")
    return 0
