"""`lipgnn runs show`: everything that is known of one run."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click

from cli import console
from cli.completion import complete_runs
from cli.options import debug_option, json_option, results_option, results_words
from lipgnn.results.columns import RESULT_FIELDS, Row
from lipgnn.results.listing import ENDED, damage_of, list_runs
from lipgnn.results.run import Run
from lipgnn.results.store import Store
from lipgnn.spec.run import FIELDS, RunSpec
from lipgnn.spec.sources import command_for


@click.command("show")
@click.argument("reference", metavar="RUN", shell_complete=complete_runs)
@results_option
@json_option
@debug_option
def show(reference: str, results: Path, as_json: bool) -> int:
    """Show the options, the state and the result of a run.

    RUN is a run's id, the start of one, its name, or its folder.
    """
    run = Store(results).find(reference)
    (row,) = (row for row in list_runs(Store(run.path.parent.parent)) if row["run_id"] == run.id)
    reason = _reason(run)
    if as_json:
        console.print_json({**row, "failure": reason, "folder": str(run.path)})
        return 0
    # Of a run that failed before its options were written, or whose files are damaged, no command is known.
    spec = RunSpec.from_mapping({name: row[name] for name in FIELDS}) if row["dataset"] is not None else None
    title = f"Run {run.id}" + (f", called {row['name']}" if row["name"] else "")
    facts = [("command", command_for(spec))] if spec else []
    facts += [("state", row["status"]), *([("reason", reason)] if reason else [])]
    shown = (name for name in (*RESULT_FIELDS[2:], "tags", "changed") if name != "command")
    facts += [(name, console.cell(_known(row, name))) for name in shown]
    facts = [(name, text) for name, text in facts if text != console.DASH]
    console.print_panel(title, [*facts, ("folder", str(run.path))], good=reason is None)
    words = results_words(results)
    if row["status"] in ENDED:
        console.print_next(shlex.join(["lipgnn", "evaluate", run.id, *words]))
    elif spec:
        console.print_next(command_for(spec, *words))
    else:
        console.print_next(shlex.join(["lipgnn", "runs", "rm", run.id, *words]))
    return 0


def _known(row: Row, name: str) -> Any:
    return ", ".join(row[name]) if isinstance(row[name], tuple) else row[name]


def _reason(run: Run) -> str | None:
    """What is wrong with the files of a run, or why its last attempt failed; None where nothing is."""
    if (damage := damage_of(run)) is not None:
        return damage
    if not run.failure_path.exists() or run.result_path.exists():
        return None
    try:
        return str(json.loads(run.failure_path.read_bytes())["reason"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return f"{run.failure_path.name} cannot be read"
