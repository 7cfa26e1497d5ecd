"""The program `lipgnn`: finds the command, turns errors into one sentence and an exit code."""

from __future__ import annotations

import errno
import importlib
import os
import shlex
import sys
import traceback

import click

import lipgnn
from cli.streams import unbroken_streams
from lipgnn.errors import Interrupted, LipgnnError, RunFailed, UsageError, unknown_name

COMMANDS = (
    *("train", "evaluate", "predict", "export", "extrapolate", "compress", "diagnose", "sweep", "report", "runs"),
    *("bench", "datasets", "env", "guide", "completion"),
)

# What is wrong with the path itself, and not with the disk.
_BAD_PATHS = (
    *(errno.ENAMETOOLONG, errno.ELOOP, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST),
    *(errno.EACCES, errno.EPERM, errno.EROFS),
)
EXAMPLES = """\b
Try:
  lipgnn train --layers 30 --norm lip
  lipgnn datasets list
  lipgnn env
  lipgnn guide first-run

`lipgnn COMMAND -h` shows the options of a command and examples.
"""


class LazyGroup(click.Group):
    """A group whose commands are imported when asked for, each from the file of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        return importlib.import_module(f"cli.{name}").command

    def resolve_command(self, ctx: click.Context, args: list[str]):
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise unknown_name("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXAMPLES,
    invoke_without_command=True,
)
@click.version_option(lipgnn.__version__, prog_name="lipgnn")
@click.pass_context
def program(ctx: click.Context) -> None:
    """Train very deep graph attention networks, and see what depth does to them."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> None:
    """Run the program and exit with its code."""
    # Processes that others start for us find no modules in the working folder either (Python 3.11 and later).
    os.environ["PYTHONSAFEPATH"] = "1"
    # Pictures are only ever written to files here; a notebook names a backend that may not be installed beside us.
    os.environ["MPLBACKEND"] = "agg"
    code = 0
    try:
        with unbroken_streams():
            code = run(sys.argv[1:])
    except LipgnnError as error:
        # What was asked for could not be shown; a worse code than that of the work is kept.
        code = code or _report(error, sys.argv[1:])
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run one command line.

    Returns
    -------
    the exit code: 0 done, 1 run failed, 2 wrong use, 4 data, 5 environment, 130 interrupted.
    """
    try:
        for word in arguments:
            if "\0" in word:
                raise UsageError(f"An argument has a NUL character: {word!r}.", "No path and no name has one.")
        return program.main(arguments, prog_name="lipgnn", standalone_mode=False) or 0
    except Interrupted as stopped:
        _say_resumed(stopped.message, arguments)
        return stopped.exit_code
    except LipgnnError as error:
        return _report(error, arguments)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        _say_interrupted(arguments)
        return Interrupted.exit_code
    except OSError as error:
        return _report(_of_system(error), arguments)
    except Exception as error:
        wrapped = LipgnnError(
            f"Internal error, {type(error).__name__}: {error}",
            "Please report it with the output of the same command and --debug.",
        )
        wrapped.__cause__ = error
        return _report(wrapped, arguments)


def _say_interrupted(arguments: list[str]) -> None:
    """What a second Ctrl-C leaves behind; a command may be ended before it could say anything itself."""
    if arguments[:1] in (["train"], ["sweep"]):
        _say_resumed("Interrupted. What was begun goes on from its last checkpoint.", arguments)
    else:
        click.echo("Interrupted.", err=True)


def _say_resumed(sentence: str, arguments: list[str]) -> None:
    from cli.console import note, print_next

    note(sentence)
    # --force would throw away what was just saved.
    print_next(shlex.join(["lipgnn", *(word for word in arguments if word != "--force")]))


def _of_system(error: OSError) -> LipgnnError:
    """What the system says of a file that nobody further down expected to fail."""
    where = (
        f"Cannot use {os.fsdecode(error.filename)!r}"
        if isinstance(error.filename, str | bytes)
        else "The system refused"
    )
    kind = UsageError if error.errno in _BAD_PATHS else RunFailed
    wrapped = kind(f"{where}: {error.strerror or error}.", "Choose another path, or make room or rights for it.")
    wrapped.__cause__ = error
    return wrapped


def _report(error: LipgnnError, arguments: list[str]) -> int:
    from cli.console import fail

    if "--debug" in arguments:
        traceback.print_exception(error)
    fail(error.message, error.hint)
    return error.exit_code
