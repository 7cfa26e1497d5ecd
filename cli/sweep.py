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
from cli.options import debug_option, json_option, list_options, results_option
from cli.signals import StopRequest
from cli.sweep_view import SweepView, describe
from lipgnn.engines import ENGINES, Orders, make_engine
from lipgnn.errors import UsageError, unknown_name
from lipgnn.files import ensure_writable
from lipgnn.grid import Grid, parse_list, read_grid, study_path
from lipgnn.plan import RETRIES, Plan, make_plan
from lipgnn.store import Store
from lipgnn.sweep import Engine, Summary, run_sweep, summary_json

EPILOG = """\b
Examples:
  lipgnn sweep --layers 2,5,10-30:5 --norm none,pair,lip --seeds 0-4 --dry-run
  lipgnn sweep --layers 2,5,10-30:5 --norm none,pair,lip --seeds 0-4 --jobs 2
  lipgnn sweep grid.toml --set epochs=50
  lipgnn sweep --study first
  lipgnn sweep grid.toml --engine ray --address auto

The same command again computes only what is missing.
"""
CLUSTER_JOBS = 100
EXIT_FAILURES = 3
EXIT_INTERRUPTED = 130


@click.command("sweep", epilog=EPILOG)
@click.argument("file", required=False, type=click.Path(path_type=Path), metavar="[FILE.toml]")
@click.option("--study", metavar="NAME", help="A grid that ships with lipgnn.")
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
    grid = _grid(file, study, settings, options)
    runs, left_out = grid.runs(os.environ)
    plan = make_plan(runs, store, retry=_retries(retry), force=force)
    chosen = _choose(plan, max_runs=max_runs, shuffle=shuffle)
    for line in left_out:
        console.note(line)
    if dry_run:
        return _show_plan(chosen, as_json=as_json)
    ensure_writable(results)
    elsewhere = engine == "slurm" or address is not None
    jobs, threads = _share(len(chosen.to_run), jobs, threads, elsewhere=elsewhere)
    orders = Orders(results.absolute(), jobs, threads, timeout, force, save_every)
    summary = _run(chosen, store, make_engine(engine, orders, address), fail_fast=fail_fast, quiet=quiet)
    if as_json:
        console.print_json(summary_json(summary))
    else:
        _close(summary, results)
    if summary.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_FAILURES if summary.failed else 0


def _grid(file: Path | None, study: str | None, settings: tuple[str, ...], options: dict[str, Any]) -> Grid:
    """The grid of the file or study, with the options of the command line in place of its own."""
    if file and study:
        raise UsageError("A sweep takes a file or a study, not both.")
    path = study_path(study) if study else file
    lists = {name: parse_list(name, text) for name, text in options.items() if text is not None}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"--set takes KEY=VALUES, got {setting!r}.", "For instance --set lr=0.001,0.01")
        lists[name.replace("-", "_")] = parse_list(name.replace("-", "_"), text)
    return (read_grid(path) if path else Grid()).with_values(lists)


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


def _show_plan(plan: Plan, *, as_json: bool) -> int:
    counts = {
        state: sum(cell.state == state for cell in plan.cells) for state in ("done", "diverged", "failed", "to do")
    }
    if as_json:
        cells = [{"run_id": c.run_id, "state": c.state, "estimate": c.estimate, **c.spec.to_dict()} for c in plan.cells]
        console.print_json({"planned": len(plan.cells), **counts, "seconds": plan.seconds, "cells": cells})
        return 0
    names, rows = describe(plan.cells)
    running = {cell.run_id for cell in plan.to_run}
    table = (
        [
            *row,
            cell.run_id,
            cell.state + (" → runs" if cell.run_id in running and cell.state != "to do" else ""),
            console.duration(cell.estimate),
        ]
        for row, cell in zip(rows, plan.cells, strict=True)
    )
    console.print_table([*names, "run", "state", "estimate"], table)
    total = console.duration(plan.seconds)
    told = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    console.note(f"{len(plan.cells)} runs: {told}. {len(plan.to_run)} would run, one after the other in {total}.")
    return 0


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


def _close(summary: Summary, results: Path) -> None:
    facts = [
        ("planned", f"{summary.planned}"),
        ("have a result", f"{summary.done}"),
        ("computed now", f"{summary.ran}" + (f", {summary.diverged} diverged" if summary.diverged else "")),
        ("failed now", f"{summary.failed}"),
        ("seconds", f"{summary.seconds:.1f}"),
        ("results", str(results / "results.csv")),
    ]
    console.print_panel("Sweep", facts, good=not summary.failed and not summary.interrupted)
    again = shlex.join(["lipgnn", *(word for word in sys.argv[1:] if word != "--force")])
    store = [] if results == Path("results") else [str(results)]
    if summary.interrupted:
        console.print_next(again)
    elif summary.failed:
        console.print_next(f"{again} --retry failed")
    else:
        console.print_next(shlex.join(["lipgnn", "report", *store]))
