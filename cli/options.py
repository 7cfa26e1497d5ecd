"""Options that several commands share, each written once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field
from pathlib import Path
from typing import Any

import click

from lipgnn.spec.presets import PRESETS
from lipgnn.spec.run import FIELDS

Command = Callable[..., Any]

_METAVARS = {"str": "NAME", "int": "N", "float": "X"}
RESULTS = Path("results")


def spec_options(command: Command) -> Command:
    """One option for every field of the run specification; a value of None means it was not given.

    Values arrive as text and are checked by the specification itself, so that flags, variables and files are
    refused with the same words.
    """
    return _options_of_fields(command, FIELDS, lists=False)


def spec_options_but(*names: str) -> Callable[[Command], Command]:
    """The same without the options of some fields, for a command to have its own."""
    fields = {name: field for name, field in FIELDS.items() if name not in names}
    return lambda command: _options_of_fields(command, fields, lists=False)


def list_options(command: Command) -> Command:
    """The same options, each taking a list of values; `--seeds` is another name of `--seed`."""
    return _options_of_fields(command, FIELDS, lists=True)


def _options_of_fields(command: Command, fields: Mapping[str, Field], *, lists: bool) -> Command:
    for name, field in reversed(fields.items()):
        choices = field.metadata.get("choices")
        metavar = f"[{'|'.join(choices)}]" if choices else _METAVARS[field.type]
        flags = [f"--{name.replace('_', '-')}"]
        if lists:
            metavar += ",…"
            flags += ["--seeds"] if name == "seed" else []
        command = click.option(
            *flags,
            name,
            default=None,
            metavar=metavar,
            help=f"{field.metadata['help']}  [default: {field.default}]",
        )(command)
    return command


def config_option(command: Command) -> Command:
    """`--config FILE`."""
    return click.option(
        "--config",
        type=click.Path(path_type=Path),
        help="TOML file with the same options as keys; flags and LIPGNN_* variables beat it.",
    )(command)


def preset_option(command: Command) -> Command:
    """`--preset NAME`."""
    return click.option(
        "--preset", metavar=f"[{'|'.join(PRESETS)}]", help="Values by depth where none are given; see --print-config."
    )(command)


def results_option(command: Command) -> Command:
    """`--results FOLDER`, the store."""
    return click.option(
        "--results",
        type=click.Path(path_type=Path),
        default=RESULTS,
        envvar="LIPGNN_RESULTS",
        show_default=True,
        show_envvar=True,
        help="Folder of the runs and of results.csv.",
    )(command)


def results_words(results: Path) -> list[str]:
    """The words that name the store in a command worth typing next; none where it is the default."""
    return [] if results == RESULTS else ["--results", str(results)]


def json_option(command: Command) -> Command:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")(command)


def debug_option(command: Command) -> Command:
    """`--debug`; main.py looks for it when an error has to be shown."""
    return click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")(command)
