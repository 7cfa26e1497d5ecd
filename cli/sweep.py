"""`lipgnn sweep`: a grid of runs, planned, computed and gone on with by one and the same command."""

from __future__ import annotations

import contextlib
import os
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import click

from cli import console
from cli.completion import complete_runs
from cli.options import (
    GroupedCommand,
    debug_option,
    json_option,
    list_options,
    log_option,
    preset_option,
    results_option,
    tag_option,
)
from cli.signals import StopRequest
from cli.sweep_pack import hand_on
from cli.sweep_plan import show_plan
from cli.sweep_view import STOPPING, SweepView, show_summary
from lipgnn.catalog import cautions, installed_trackers
from lipgnn.errors import Interrupted
from lipgnn.spec.grid import parse_lists
from lipgnn.spec.learning import learning_cautions
from lipgnn.sweep.engines import ENGINES
from lipgnn.sweep.execute import Means, execute
from lipgnn.sweep.prepare import Prepared, SweepRequest, prepare
from lipgnn.sweep.run import Summary, summary_json

EPILOG = """\b
Examples:
  lipgnn sweep --layers 2,5,10-30:5 --norm none,pair,lip --seeds 0-4 --dry-run
  lipgnn sweep --layers 2,5,10-30:5 --norm none,pair,lip --seeds 0-4 --jobs 2
  lipgnn sweep grid.toml --set epochs=50
  lipgnn sweep --study missing --scale small --dry-run
  lipgnn sweep --study missing --protocol pairnorm --dataset cora --jobs 2
  lipgnn sweep grid.toml --engine ray --address auto
  lipgnn sweep --pack 3f2a
  lipgnn sweep --unpack 3f2a91c05d77.run.zip

The same command again computes only what is missing.
"""
EXIT_FAILURES = 3


@click.command("sweep", cls=GroupedCommand, epilog=EPILOG)
@click.argument("file", required=False, type=click.Path(path_type=Path), metavar="[FILE.toml]")
@click.option(
    "--study",
    metavar="NAME",
    help="Take an experiment that ships with lipgnn; its archived rows are not computed again.",
)
@click.option(
    "--scale",
    metavar="[small|decide|paper]",
    help="Take the study at this scale: hours on two cores, the runs of the full protocol that decide its question, or "
    "all of it.  [default: small]",
)
@click.option("--protocol", metavar="NAME", help="Take the study with this protocol.  [default: its first]")
@preset_option
@list_options
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUES",
    help="Set any option in this form; repeat it to set several.",
)
@click.option("--dry-run", is_flag=True, help="Show the plan and stop.")
@click.option("--retry", multiple=True, metavar="[failed|diverged]", help="Repeat the runs that failed or diverged.")
@click.option("--force", is_flag=True, help="Compute every run again.")
@click.option("--fail-fast", is_flag=True, help="Stop after the first failure.")
@click.option("--max-runs", type=click.IntRange(min=1), metavar="N", help="Compute at most this many runs.")
@click.option("--shuffle", is_flag=True, help="Compute the runs in random order, to see the whole range early.")
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Compute this many runs at once.  [default: one per core]"
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    help="Give each run this many threads.  [default: cores / jobs]",
)
@click.option(
    "--engine",
    default="local",
    show_default=True,
    metavar=f"[{'|'.join(ENGINES)}]",
    help="Compute the runs here, on Ray or on Slurm; all share the folder of results.",
)
@click.option(
    "--address",
    metavar="HOST:PORT",
    help="Use the Ray cluster at this address; without it one is started here. For slurm, `local` tries it here.",
)
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="End a run that takes longer."
)
@click.option(
    "--save-every",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Write a checkpoint every N epochs.",
)
@click.option(
    "--pack",
    metavar="RUN",
    shell_complete=complete_runs,
    help="Write an unfinished run with its checkpoint into the one file RUN.run.zip here, compute nothing, and stop.",
)
@click.option(
    "--unpack",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take the run of such a file into the folder of results, where its command goes on with it, and stop.",
)
@log_option
@click.option("--name", metavar="NAME", help="Give the sweep this name, for `lipgnn report --sweep NAME`.")
@tag_option
@results_option
@json_option
@click.option("-q", "--quiet", is_flag=True, help="Show no progress, only failures and the summary.")
@debug_option
def command(
    settings: tuple[str, ...],
    retry: tuple[str, ...],
    dry_run: bool,
    pack: str | None,
    unpack: Path | None,
    results: Path,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Run a grid across depths, norms, models, data sets and seeds."""
    if pack or unpack:
        return hand_on(pack, unpack, results, force=given["force"])
    states = tuple(word for item in retry for word in item.split(","))
    means, which = Means(**_taken(Means, given)), _taken(SweepRequest, given)
    # What is left are the options of a run.
    lists = parse_lists(given, settings)
    if "dataset" in lists:
        from lipgnn.datasets.locate import settled

        lists["dataset"] = [settled(name) for name in lists["dataset"]]
    request = SweepRequest(results, lists, retry=states, **which)
    prepared = prepare(request, os.environ, only_shown=dry_run)
    specs = [planned.spec for planned in prepared.plan.runs]
    warned = [*cautions(spec.dataset for spec in specs)]
    warned += dict.fromkeys(caution for spec in specs for caution in learning_cautions(spec))
    for line in (*prepared.notes, *(f"Note: {caution}" for caution in warned)):
        console.note(line)
    if dry_run:
        show_plan(prepared.plan, prepared.other_scales, as_json=as_json)
        return 0
    log = installed_trackers(means.log, lambda sentence: console.note(f"Warning: {sentence}"))
    summary = _compute(prepared, replace(means, log=log), quiet=quiet)
    if as_json:
        console.print_json(summary_json(summary))
    else:
        show_summary(summary, results, prepared.choice)
    if summary.interrupted:
        return Interrupted.exit_code
    return EXIT_FAILURES if summary.failed else 0


def _taken(kind: type, given: dict[str, Any]) -> dict[str, Any]:
    """The options that are fields of a class, taken out of those given."""
    return {field.name: given.pop(field.name) for field in fields(kind) if field.name in given}


def _compute(prepared: Prepared, means: Means, *, quiet: bool) -> Summary:
    """Show the events of a sweep until its summary."""
    plan = prepared.plan
    if not plan.to_run:
        console.note("Nothing to do: every run of this sweep has ended (--retry, --force).")
    means = means.shared_by(len(plan.to_run))
    with (
        StopRequest(STOPPING) as stop,
        contextlib.closing(execute(prepared, means, should_stop=stop)) as events,
        SweepView(plan, means.jobs, quiet=quiet, stopping=stop) as view,
    ):
        # What is drawn says it; a line of its own would be drawn over.
        stop.silent = view.live.on_terminal
        for event in events:
            if isinstance(event, Summary):
                return event
            view.show(event)
    raise AssertionError("a sweep ends with a summary")
