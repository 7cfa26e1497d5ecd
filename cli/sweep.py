"""`lipgnn sweep`: a grid of runs, planned, computed and gone on with by one and the same command."""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from cli import console
from cli.options import GroupedCommand, debug_option, json_option, list_options, preset_option, results_option
from cli.signals import StopRequest
from cli.sweep_plan import show_plan
from cli.sweep_view import SweepView
from lipgnn.errors import UsageError, unknown_name
from lipgnn.files import ensure_writable
from lipgnn.results.archive import keep, kept_path, read_all_kept, read_kept
from lipgnn.results.store import Store
from lipgnn.spec.grid import Grid, parse_list, read_grid, runs_of
from lipgnn.spec.study import Choice, check_within_study, read_study
from lipgnn.sweep.engines import ENGINES, Orders, make_engine
from lipgnn.sweep.plan import RETRIES, Plan, make_plan, outline
from lipgnn.sweep.run import Engine, Summary, run_sweep, summary_json

EPILOG = """\b
Examples:
  lipgnn sweep --layers 2,5,10-30:5 --norm none,pair,lip --seeds 0-4 --dry-run
  lipgnn sweep --layers 2,5,10-30:5 --norm none,pair,lip --seeds 0-4 --jobs 2
  lipgnn sweep grid.toml --set epochs=50
  lipgnn sweep --study missing --scale small --dry-run
  lipgnn sweep --study missing --protocol pairnorm --dataset cora --jobs 2
  lipgnn sweep grid.toml --engine ray --address auto

The same command again computes only what is missing.
"""
CLUSTER_JOBS = 100
EXIT_FAILURES = 3
EXIT_INTERRUPTED = 130


@click.command("sweep", cls=GroupedCommand, epilog=EPILOG)
@click.argument("file", required=False, type=click.Path(path_type=Path), metavar="[FILE.toml]")
@click.option("--study", metavar="NAME", help="An experiment that ships with lipgnn; rows kept of it are not run.")
@click.option("--scale", metavar="[small|paper]", help="Hours on two cores, or the full protocol.  [default: small]")
@click.option("--protocol", metavar="NAME", help="One of the study's protocols.  [default: its first]")
@preset_option
@list_options
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUES", help="Any option in this form; may be repeated."
)
@click.option("--dry-run", is_flag=True, help="Show the plan and stop.")
@click.option("--retry", multiple=True, metavar="[failed|diverged]", help="Compute such runs again.")
@click.option("--force", is_flag=True, help="Compute everything again.")
@click.option("--fail-fast", is_flag=True, help="Stop after the first failure.")
@click.option("--max-runs", type=click.IntRange(min=1), metavar="N", help="Compute at most so many runs.")
@click.option("--shuffle", is_flag=True, help="In random order, to see the whole range early.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Runs at once.  [default: one a core]")
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Of each run.  [default: cores / jobs]")
@click.option(
    "--engine",
    default="local",
    show_default=True,
    metavar=f"[{'|'.join(ENGINES)}]",
    help="Where runs are computed; all share the folder of results.",
)
@click.option("--address", help="Of a running Ray cluster; none starts one here. For slurm: `local` tries it here.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="End a longer run.")
@click.option("--save-every", type=click.IntRange(min=1), default=10, show_default=True, help="Epochs per checkpoint.")
@results_option
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No progress, only failures and the summary.")
@debug_option
def command(
    file: Path | None,
    study: str | None,
    scale: str | None,
    protocol: str | None,
    preset: str | None,
    settings: tuple[str, ...],
    dry_run: bool,
    retry: tuple[str, ...],
    force: bool,
    fail_fast: bool,
    max_runs: int | None,
    shuffle: bool,
    jobs: int | None,
    threads: int | None,
    engine: str,
    address: str | None,
    timeout: float | None,
    save_every: int,
    results: Path,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Run a grid across depths, norms, models, data sets and seeds."""
    store = Store(results)
    lists = _lists(settings, options)
    taken = _study(study, file, scale, protocol)
    if taken and preset:
        raise UsageError("A study says itself what its runs are, and takes no preset.", "Leave --preset out.")
    grids = taken.grids(lists) if taken else [(read_grid(file) if file else Grid()).with_values(lists)]
    runs, left_out = runs_of(grids, os.environ, preset)
    kept = read_kept(kept_path(results, study)) if study else []
    further = read_all_kept(results) if dry_run else []
    # The data of a study may be far away; what it would cost can be told all the same.
    plan = make_plan(
        runs,
        store,
        published=kept,
        further=further,
        retry=_retries(retry),
        force=force,
        without_data=dry_run and taken is not None,
    )
    chosen = _choose(plan, max_runs=max_runs, shuffle=shuffle)
    for line in [*([taken.heading] if taken else []), *left_out]:
        console.note(line)
    if dry_run:
        others = _other_scales(taken, lists, [*store.published(), *further]) if taken else {}
        show_plan(chosen, others, as_json=as_json)
        return 0
    ensure_writable(results)
    elsewhere = engine == "slurm" or address is not None
    jobs, threads = _share(len(chosen.to_run), jobs, threads, elsewhere=elsewhere)
    orders = Orders(results.absolute(), jobs, threads, timeout, force, save_every, taken.study.record if taken else ())
    try:
        summary = _run(chosen, store, make_engine(engine, orders, address), fail_fast=fail_fast, quiet=quiet)
    finally:
        kept_now = keep(results, taken.study, anew=(cell.run_id for cell in chosen.to_run)) if taken else None
    if as_json:
        console.print_json(summary_json(summary))
    else:
        _close(summary, results, taken, kept_now)
    if summary.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_FAILURES if summary.failed else 0


def _lists(settings: tuple[str, ...], options: dict[str, Any]) -> dict[str, list[Any]]:
    """The values given on the command line, by option."""
    lists = {name: parse_list(name, text) for name, text in options.items() if text is not None}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"--set takes KEY=VALUES, got {setting!r}.", "For instance --set lr=0.001,0.01")
        lists[name.replace("-", "_")] = parse_list(name.replace("-", "_"), text)
    return lists


def _study(name: str | None, file: Path | None, scale: str | None, protocol: str | None) -> Choice | None:
    check_within_study(name, scale, protocol)
    if name is None:
        return None
    if file:
        raise UsageError("A sweep takes a file or a study, not both.")
    return read_study(name).choose(scale, protocol)


def _other_scales(taken: Choice, lists: dict[str, list[Any]], rows: list[Any]) -> dict[str, Plan]:
    """What the same options would be at the study's other scales, by rows alone: their data may not be here."""
    others = [choice for choice in taken.study.choices() if choice.protocol == taken.protocol]
    return {
        choice.scale: outline(runs_of(choice.grids(lists), os.environ)[0], rows)
        for choice in others
        if choice.scale != taken.scale
    }


def _retries(retry: tuple[str, ...]) -> list[str]:
    words = [word for item in retry for word in item.split(",")]
    for word in words:
        if word not in RETRIES:
            raise unknown_name("state to retry", word, RETRIES)
    return words


def _choose(plan: Plan, *, max_runs: int | None, shuffle: bool) -> Plan:
    to_run = list(plan.to_run)
    if shuffle:
        random.shuffle(to_run)
    return Plan(plan.cells, to_run[:max_runs])


def _share(runs: int, jobs: int | None, threads: int | None, *, elsewhere: bool) -> tuple[int, int]:
    """Runs at once, and threads of each: the cores of this machine, or what a cluster may have in its queue."""
    if elsewhere:
        return jobs or max(1, min(CLUSTER_JOBS, runs)), threads or 1
    cores = os.cpu_count() or 1
    jobs = jobs or max(1, min(cores // (threads or 1), runs))
    return jobs, threads or max(1, cores // jobs)


def _run(plan: Plan, store: Store, engine: Engine, *, fail_fast: bool, quiet: bool) -> Summary:
    if not plan.to_run:
        console.note("Nothing to do: every run of this sweep has ended (--retry, --force).")
    with (
        contextlib.closing(engine),
        StopRequest() as stop,
        SweepView(plan, engine.orders.jobs, quiet=quiet) as view,
    ):
        for event in run_sweep(plan, store, engine, should_stop=stop, fail_fast=fail_fast):
            if isinstance(event, Summary):
                return event
            view.show(event)
    raise AssertionError("a sweep ends with a summary")


def _close(summary: Summary, results: Path, taken: Choice | None, kept: tuple[Path, int] | None) -> None:
    facts = [
        ("planned", f"{summary.planned}"),
        ("have a result", f"{summary.done}"),
        ("computed now", f"{summary.ran}" + (f", {summary.diverged} diverged" if summary.diverged else "")),
        ("failed now", f"{summary.failed}"),
        ("seconds", f"{summary.seconds:.1f}"),
        ("results", str(results / "results.csv")),
    ]
    rows_kept = kept[1] if kept else 0
    if rows_kept:
        facts.append(("kept of the study", f"{kept[0]}, {rows_kept} rows"))
    console.print_panel("Sweep", facts, good=not summary.failed and not summary.interrupted)
    again = shlex.join(["lipgnn", *(word for word in sys.argv[1:] if word != "--force")])
    store = [] if results == Path("results") else ["--results", str(results)]
    if summary.interrupted:
        console.print_next(again)
    elif summary.failed:
        console.print_next(f"{again} --retry failed")
    else:
        console.print_next(shlex.join(["lipgnn", "report", *(taken.words() if rows_kept else []), *store]))
