"""`lipgnn runs tag`: names and tags for runs that are there."""

from __future__ import annotations

from pathlib import Path

import click

from cli import console
from cli.completion import complete_runs
from cli.options import debug_option, results_option
from lipgnn.errors import UsageError
from lipgnn.results.labels import Labels, add_labels, check_label, read_labels, write_labels
from lipgnn.results.store import Store


@click.command("tag")
@click.argument("reference", metavar="RUN", shell_complete=complete_runs)
@click.argument("tags", metavar="[TAG]...", nargs=-1)
@click.option("--name", metavar="NAME", help="Give the run this name; a run that had it before loses it.")
@click.option("--remove", is_flag=True, help="Take these tags away; without any, take all tags and the name away.")
@results_option
@debug_option
def tag(reference: str, tags: tuple[str, ...], name: str | None, remove: bool, results: Path) -> int:
    """Give a run tags and a name, or take tags away."""
    if name is not None:
        check_label("name", name)
    for text in tags:
        check_label("tag", text)
    if remove and name is not None:
        raise UsageError("--name gives a name and --remove takes tags away.", "Use one of them.")
    if not (remove or tags or name):
        raise UsageError("Nothing is asked for.", "Give tags, a --name, or --remove.")
    run = Store(results).find(reference)
    if remove:
        own = read_labels(run.path)
        labels = Labels(own.name, tuple(text for text in own.tags if text not in tags)) if tags else Labels()
        write_labels(run.path, labels)
    else:
        labels = add_labels(run.path, name=name, tags=tags)
    called = f"is called {labels.name}" if labels.name else "has no name"
    console.note(f"Run {run.id} {called}; its tags: {', '.join(labels.tags) or 'none'}.")
    return 0
