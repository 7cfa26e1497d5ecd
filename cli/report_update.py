"""`lipgnn report --update FILE.md`: the tables of a page, printed anew by the commands that stand above them."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

import click
from click.core import ParameterSource

from cli import console
from lipgnn.errors import UsageError
from lipgnn.files import write_atomic
from lipgnn.words import counted

# The parameters of `report` that a command in a page may have: those that choose what is printed. A page may come from
# anybody, so none of them writes.
PRINTING = (
    *("sources", "results", "study", "scale", "protocol", "sweep", "tags", "rows", "cols", "value", "over", "best"),
    *("where", "sort", "bold", "underline", "compare", "published", "form", "as_json"),
    *("caption", "label", "wide"),
)


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
    except FileNotFoundError as error:
        raise UsageError(f"There is no page {str(path)!r}.", "Give a file of text that has tables.") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise UsageError(f"Cannot read the page {str(path)!r}: {reason}.", "Give a file of text.") from error

    after, tables = update_tables(before, lambda words: _print(ctx.command, words))
    if after != before:
        write_atomic(path, after.encode())
    console.note(f"{counted(tables, 'table')} in {str(path)!r}: {'as printed' if after == before else 'printed anew'}.")
    return 0


def _print(command: click.Command, words: list[str]) -> str:
    """What `report` prints, by words of a page, which may ask for nothing else."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
        try:
            asked = command.make_context("lipgnn report", list(words))
        except click.ClickException as error:
            raise UsageError(error.format_message()) from error
        except click.exceptions.Exit as error:
            raise UsageError("It prints no report.") from error
        with asked:
            _check_only_prints(asked)
            command.invoke(asked)
    return out.getvalue()


def _check_only_prints(asked: click.Context) -> None:
    """Refuse, by what the program's own parser made of it, what does more than print results of this folder."""
    given = [p for p in asked.command.params if asked.get_parameter_source(p.name) is ParameterSource.COMMANDLINE]
    for parameter in given:
        if parameter.name not in PRINTING:
            raise UsageError(f"A page may only print, and {parameter.opts[-1]} does something else.", "Leave it out.")
    stores = [asked.params["results"] for parameter in given if parameter.name == "results"]
    for path in (*asked.params["sources"], *stores):
        if not Path(os.path.abspath(path)).is_relative_to(Path.cwd()):
            raise UsageError(
                f"A page may only print results of the working folder, and {str(path)!r} lies elsewhere.",
                "Run the command from a folder above them.",
            )
