"""`lipgnn completion`: what makes a shell complete commands, options, data sets and runs."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from cli.options import RESULTS
from lipgnn.errors import LipgnnError

SHELLS = ("bash", "zsh", "fish")


EPILOG = """\b
Examples:
  lipgnn completion bash > lipgnn.sh
  lipgnn completion fish | source
"""


@click.command("completion", epilog=EPILOG)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print a script that lets the shell complete words.

    It completes commands, options, data sets, and the ids and names of runs. A line in the file that the shell reads at
    its start is enough: eval "$(lipgnn completion bash)" in ~/.bashrc, eval "$(lipgnn completion zsh)" in ~/.zshrc, or
    lipgnn completion fish | source in ~/.config/fish/config.fish.
    """
    program = ctx.find_root().command
    click.echo(get_completion_class(shell)(program, {}, "lipgnn", "_LIPGNN_COMPLETE").source())
    return 0


def complete_runs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The ids and names of runs in the store that begin so, and files."""
    from lipgnn.results.listing import list_runs
    from lipgnn.results.store import Store

    try:
        runs = list_runs(Store(Path(ctx.params.get("results") or RESULTS)))
    except LipgnnError:
        runs = []
    items = []
    for run in reversed(runs):
        words = f"{run['dataset']}, {run['model']}, {run['layers']} layers, norm {run['norm']}, {run['status']}"
        words = words if run["dataset"] is not None else run["status"]
        names = [run["run_id"], *([run["name"]] if run["name"] else [])]
        items += [CompletionItem(name, help=words) for name in names if name.startswith(incomplete)]
    return items or [CompletionItem(incomplete, type="file")]
