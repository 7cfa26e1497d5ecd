"""`lipgnn runs`: the runs of a store, and how to show, tag and remove them."""

from __future__ import annotations

from pathlib import Path

import click

from cli import console
from cli.options import RESULTS, debug_option, json_option, results_option, results_words
from cli.runs.listing import conditions_words, print_runs
from cli.runs.remove import remove
from cli.runs.show import show
from cli.runs.tag import tag
from lipgnn.errors import UsageError
from lipgnn.results.listing import choose_runs, list_runs
from lipgnn.results.store import Store

NO_RUNS = "No run is listed. Train one: lipgnn train --layers 10 --norm lip"
EPILOG = """\b
Examples:
  lipgnn runs
  lipgnn runs --where dataset=cora --where norm=lip --sort -test_score
  lipgnn runs --tag paper
  lipgnn runs show 3f2a
  lipgnn runs tag 3f2a paper --name best
  lipgnn runs rm --where status=failed
"""


@click.group("runs", epilog=EPILOG, invoke_without_command=True)
@click.option(
    "--where",
    multiple=True,
    metavar="KEY=VALUE,…",
    help="List only runs with one of these values; this may be repeated.",
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="List only runs with this tag; this may be repeated.")
@click.option(
    "--sort",
    metavar="FIELD",
    help="Order the runs by this field; a leading - reverses the order.  [default: the latest last]",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="List only the last N runs.")
@results_option
@json_option
@debug_option
@click.pass_context
def command(
    ctx: click.Context,
    where: tuple[str, ...],
    tags: tuple[str, ...],
    sort: str | None,
    limit: int | None,
    results: Path,
    as_json: bool,
) -> int | None:
    """List, show, tag and remove the runs of a store."""
    if ctx.invoked_subcommand is not None:
        if where or tags or sort or limit or as_json:
            raise UsageError(
                f"Options before {ctx.invoked_subcommand} are those of the list.",
                f"Put them behind it: lipgnn runs {ctx.invoked_subcommand} …",
            )
        return None
    if results != RESULTS and not results.exists():
        # The usual one is made by the first run.
        raise UsageError(f"There is no folder {str(results)!r}.", "Choose one with --results (or LIPGNN_RESULTS).")
    there = list_runs(Store(results))
    runs = choose_runs(there, where=where, tags=tags, sort=sort)[-(limit or 0) :]
    nothing = f"None of {len(there)} runs has {conditions_words(where, tags)}." if there else NO_RUNS
    print_runs(runs, nothing=nothing, as_json=as_json)
    if runs and not as_json:
        console.print_next(" ".join(["lipgnn runs show", runs[-1]["run_id"], *results_words(results)]))
    return 0


for each in (show, tag, remove):
    command.add_command(each)
