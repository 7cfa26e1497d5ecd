"""`lipgnn runs rm`: runs that are not wanted any more."""

from __future__ import annotations

from pathlib import Path

import click

from cli import console
from cli.completion import complete_runs
from cli.options import debug_option, results_option
from cli.runs.listing import conditions_words, print_runs
from lipgnn.errors import DataError, UsageError
from lipgnn.results.listing import choose_runs, list_runs
from lipgnn.results.store import Store


@click.command("rm")
@click.argument("references", metavar="[RUN]...", nargs=-1, shell_complete=complete_runs)
@click.option("--where", multiple=True, metavar="KEY=VALUE,…", help="Remove the runs with one of these values.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@results_option
@debug_option
def remove(references: tuple[str, ...], where: tuple[str, ...], dry_run: bool, results: Path) -> int:
    """Remove runs with all their files; a run that is being computed is refused."""
    if bool(references) == bool(where):
        raise UsageError("Say which runs are removed.", "Give ids or names, or --where status=failed; one of the two.")
    store = Store(results)
    known = list_runs(store)
    wanted = {store.find(reference).id for reference in references}
    chosen = choose_runs(known, where=where) if where else [run for run in known if run["run_id"] in wanted]
    if dry_run or not chosen:
        nothing = f"no run has {conditions_words(where)}" if where else f"no such run is in {str(results)!r}"
        print_runs(chosen, nothing=f"Nothing was removed: {nothing}.", as_json=False)
        return 0
    for row in chosen:
        store.remove(row["run_id"])
        console.note(f"Removed: run {row['run_id']}")
    try:
        store.rebuild_csv()
    except DataError as error:
        console.note(f"Note: {store.csv_path} is as it was before: {error.message} {error.hint or ''}")
    return 0
