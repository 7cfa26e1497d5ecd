"""Options that several commands share, each written once, and help texts that show those of a run in groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from cli import console
from lipgnn.catalog import DATASETS, TRACKERS, Entry, tracker_names
from lipgnn.results.store import BEST, STATES, Store
from lipgnn.spec.options import GROUPS, default_of, type_of
from lipgnn.spec.presets import PRESETS
from lipgnn.spec.run import FIELDS

Command = Callable[..., Any]

OUTPUT = "Output and files"
RESULTS = Path("results")
_METAVARS = {str: "NAME", int: "N", float: "X"}
# The width of the first column of help texts in groups, so that it is the same in every group.
_COLUMN = 24


class GroupedOption(click.Option):
    """An option that help texts show in a group.

    Parameters
    ----------
    group : one of GROUPS.
    entries : what may be chosen, with descriptions; empty where nothing needs one.
    names : what a shell completes, in a list the last value.
    """

    def __init__(
        self, *args: Any, group: str, entries: Mapping[str, Entry], names: Iterable[str] | None = None, **kwargs: Any
    ):
        super().__init__(*args, **kwargs)
        self.group = group
        self.entries = entries
        self.names = tuple(entries if names is None else names)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The names that begin so, or else files."""
        found = completed(incomplete, self.names, self.entries)
        return found or [CompletionItem(incomplete, type="file")]


class GroupedCommand(click.Command):
    """A command that has the options of a run, shown in their groups.

    Parameters
    ----------
    described : whether every choice is shown with its description, and the command's own options come last.
        Otherwise its own options come first, and choices are names alone.
    """

    def __init__(self, *args: Any, described: bool = False, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.described = described

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for every group, and one for the options that are the command's own."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        grouped = {
            group.capitalize(): [one for one in options if isinstance(one, GroupedOption) and one.group == group]
            for group in GROUPS
        }
        own = [one for one in options if not isinstance(one, GroupedOption)]
        for title, members in ({**grouped, OUTPUT: own} if self.described else {"Options": own, **grouped}).items():
            rows = [row for option in members for row in self._rows(option, ctx)]
            with formatter.section(title):
                formatter.write_dl([(f"{first:<{_COLUMN}}", second) for first, second in rows], col_max=_COLUMN)

    def _rows(self, option: click.Option, ctx: click.Context) -> Iterable[tuple[str, str]]:
        flags, text = option.get_help_record(ctx)
        entries = getattr(option, "entries", {}) if self.described else {}
        yield f"{option.opts[0]} NAME" if entries else flags, text
        for name, entry in entries.items():
            yield f"    {name}", entry.description


def completed(incomplete: str, names: Iterable[str], entries: Mapping[str, Entry]) -> list[CompletionItem]:
    """The names that the last value of a list may become, with their descriptions where `entries` has any."""
    before, comma, last = incomplete.rpartition(",")
    described = ((name, getattr(entries.get(name), "description", None)) for name in names)
    return [CompletionItem(f"{before}{comma}{n}", help=text) for n, text in described if n.startswith(last)]


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
        flags = [f"--{name.replace('_', '-')}"]
        flags += ["--seeds"] if lists and name == "seed" else []
        catalogs = field.metadata.get("names") or [field.metadata.get("catalog", {})]
        completed = DATASETS if name == "dataset" else field.metadata.get("choices")
        command = click.option(
            *flags,
            name,
            cls=GroupedOption,
            group=field.metadata["group"],
            entries={name: entry for catalog in catalogs for name, entry in catalog.items()},
            names=completed,
            default=None,
            metavar=_metavar(field) + (",…" if lists else ""),
            help=f"{field.metadata['help']}  [default: {default_of(field)}]",
        )(command)
    return command


def _metavar(field: Field) -> str:
    """What stands for the value: its choices, or its kind."""
    if choices := field.metadata.get("choices"):
        return f"[{'|'.join(choices)}]"
    if number := field.metadata.get("or_number"):
        return f"[{field.metadata.get('word', default_of(field))}|{_METAVARS[number]}]"
    return _METAVARS[type_of(field)]


def config_option(command: Command) -> Command:
    """`--config FILE`."""
    return click.option(
        "--config",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Read options from this TOML file; flags and LIPGNN_* variables beat it.",
    )(command)


def preset_option(command: Command) -> Command:
    """`--preset NAME`."""
    return click.option(
        "--preset",
        cls=GroupedOption,
        group="depth and norms",
        entries=PRESETS,
        metavar=f"[{'|'.join(PRESETS)}]",
        help="Take the values of a recipe where no option gives one; --print-config shows them.",
    )(command)


def results_option(command: Command) -> Command:
    """`--results FOLDER`, the store."""
    return click.option(
        "--results",
        type=click.Path(path_type=Path),
        metavar="FOLDER",
        default=RESULTS,
        envvar="LIPGNN_RESULTS",
        show_default=True,
        show_envvar=True,
        help="The store: the folder of the runs and of results.csv.",
    )(command)


def tag_option(command: Command) -> Command:
    """`--tag TAG`, of commands that compute runs."""
    return click.option(
        "--tag",
        "tags",
        multiple=True,
        metavar="TAG",
        help="Give the run this tag, to find it with `lipgnn runs --tag TAG`; this may be repeated.",
    )(command)


def log_option(command: Command) -> Command:
    """`--log NAME[,NAME]`, of commands that compute runs; the value is a tuple of names."""
    return click.option(
        "--log",
        multiple=True,
        metavar=f"[{'|'.join(TRACKERS)}],…",
        envvar="LIPGNN_LOG",
        show_envvar=True,
        callback=lambda context, option, texts: tracker_names(texts),
        shell_complete=lambda context, option, incomplete: completed(incomplete, TRACKERS, TRACKERS),
        help="Log losses, scores and gradients by layer for these trackers as well; see `lipgnn guide trackers`.",
    )(command)


def results_words(results: Path) -> list[str]:
    """The words that name the store in a command worth typing next; none where it is the default."""
    return [] if results == RESULTS else ["--results", str(results)]


def state_option(command: Command) -> Command:
    """`--at STATE`, of commands that look at a run or start from it."""
    return click.option(
        "--at",
        "state",
        type=click.Choice(STATES),
        help="Take RUN at its selected epoch, or at the last good state of a run that diverged.  [default: best, if "
        "there is one]",
    )(command)


def model_file(reference: str, results: Path, state: str | None = BEST) -> Path:
    """The file of a saved model that is about to be loaded, by a run's id or by its path; it is said that it is.

    Raises
    ------
    UsageError : there is none.
    """
    path = Store(results).find_model(reference, state)
    console.loading()
    return path


def device_option(command: Command) -> Command:
    """`--device NAME`, of commands that look at a saved model."""
    return click.option(
        "--device",
        metavar="NAME",
        default="auto",
        show_default=True,
        help="Compute on this device: auto, cpu, cuda or cuda:K.",
    )(command)


def json_option(command: Command) -> Command:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")(command)


def debug_option(command: Command) -> Command:
    """`--debug`; main.py looks for it when an error has to be shown."""
    return click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")(command)
