"""The page `commands` of the guide, made from the program itself: every command and every option, each in one place.

python -m cli.reference > lipgnn/guide/commands.md
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import click

from cli.main import program
from cli.options import GroupedOption
from lipgnn.spec.options import GROUPS

_HEAD = """# Commands and options

Every command with its options and their defaults, in the words of the help texts.

<!-- This page is written by the program: python -m cli.reference > lipgnn/guide/commands.md -->

`lipgnn --version` prints the version. `-h` or `--help` after any command shows its help.
"""
_RUN = """## Options of a run

`lipgnn train` and `lipgnn diagnose --init` take one value of each. `lipgnn sweep` takes lists of values, such as
`--layers 2,5,10-30:5`, and knows `--seed` as `--seeds` too."""
_RUN_LINK = "the [options of a run](#options-of-a-run)"

Words = tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """What the page says of an option; options of several commands that say the same share one place.

    Attributes
    ----------
    name : its longest flag.
    flags : all its flags, and what stands for its value.
    text : what it does, and its default.
    """

    name: str
    flags: str
    text: str


def commands(group: click.Group, words: Words = ("lipgnn",)) -> Iterator[tuple[Words, click.Command]]:
    """Every command below a group with the words that call it, a group before its commands."""
    with click.Context(group) as context:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            yield (*words, name), command
            if isinstance(command, click.Group):
                yield from commands(command, (*words, name))


def reference() -> str:
    """The whole page."""
    known = dict(commands(program))
    users: dict[Place, list[Words]] = {}
    for words, command in known.items():
        for option in command.params:
            if isinstance(option, click.Option) and not isinstance(option, GroupedOption):
                users.setdefault(_place(option), []).append(words)
    all_of_them = [words for words, command in known.items() if not isinstance(command, click.Group)]
    shared = {
        place: "every command" if by == all_of_them else _series([" ".join(words[1:]) for words in by])
        for place, by in users.items()
        if _home(by) is None
    }
    sections = [_HEAD, *(_section(words, command, users) for words, command in known.items())]
    sections.append(f"## Options of several commands\n\n{_list(shared)}\n")
    sections.append(_run_section(known["lipgnn", "train"]))
    return "\n".join(sections)


def _place(option: click.Option) -> Place:
    flags = ", ".join(sorted(option.opts, key=len)) + "".join(f" / {flag}" for flag in option.secondary_opts)
    if not option.is_flag:
        flags += f" {option.metavar or _metavar(option.type)}"
    default = f" [default: {option.default}]" if option.show_default else ""
    variable = f" [variable: {option.envvar}]" if option.show_envvar else ""
    return Place(max(option.opts, key=len), flags, " ".join(option.help.split()) + default + variable)


def _metavar(kind: click.ParamType) -> str:
    """What stands for a value of this type."""
    if isinstance(kind, click.Choice):
        return f"[{'|'.join(kind.choices)}]"
    return "N" if isinstance(kind, click.IntRange) else kind.name.upper()


def _home(users: Sequence[Words]) -> Words | None:
    """The command, or the group of commands, whose section has the option of these; None where they have no group."""
    if len(users) == 1:
        return users[0]
    groups = {words[:2] for words in users}
    return groups.pop() if len(groups) == 1 else None


def _section(words: Words, command: click.Command, users: Mapping[Place, Sequence[Words]]) -> str:
    """The heading of a command, what it does, how it is called, and the options that have their place here."""
    # With the settings of the program: a command keeps the help option that it is first asked for.
    context = click.Context(command, parent=click.Context(program, **program.context_settings))
    usage = " ".join([*words, *command.collect_usage_pieces(context)])
    parts = [f"## {' '.join(words)}", inspect.cleandoc(command.help), f"```\n{usage}\n```"]
    here = {
        place: _series([called[-1] for called in by]) if isinstance(command, click.Group) else ""
        for place, by in users.items()
        if _home(by) == words
    }
    if here:
        parts.append(_list(here))
    also = [f"`{place.name}`" for place, by in users.items() if words in by and place not in here]
    if any(isinstance(one, GroupedOption) for one in command.params):
        also.append(_RUN_LINK)
    if also:
        parts.append(f"It also takes {_series(also)}.")
    return "\n\n".join(parts) + "\n"


def _run_section(command: click.Command) -> str:
    parts = [_RUN]
    for group in GROUPS:
        lines = []
        for option in command.params:
            if isinstance(option, GroupedOption) and option.group == group:
                lines.append(_list({_place(option): ""}))
                lines += [f"  - `{name}`: {entry.description}" for name, entry in option.entries.items()]
        parts += [f"### {group.capitalize()}", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _list(places: Mapping[Place, str]) -> str:
    """A line for every option, with the commands that have it where several do."""
    return "\n".join(
        f"- `{place.flags}`{f' ({users})' if users else ''}: {place.text}" for place, users in places.items()
    )


def _series(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


if __name__ == "__main__":
    click.echo(reference(), nl=False)
