"""`lipgnn bench`: how long the tool itself takes, on this machine."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from cli import console
from cli.options import debug_option, json_option

if TYPE_CHECKING:
    from lipgnn.bench.spread import Spread

EPILOG = """\b
Examples:
  lipgnn bench store
  lipgnn bench sweep --repeats 9 --json
"""
PROGRAM = (sys.executable, "-c", "from cli.main import main; main()")


def repeats_option(default: int):
    """`--repeats N`."""
    return click.option(
        "--repeats", type=click.IntRange(min=1), default=default, show_default=True, help="Measurements of each."
    )


@click.group("bench", epilog=EPILOG)
def command() -> None:
    """Measure what the tool itself costs."""


@command.command("store")
@click.option("--runs", type=click.IntRange(min=20), default=10_000, show_default=True, help="Runs in the store.")
@repeats_option(3)
@json_option
@debug_option
def store(runs: int, repeats: int, as_json: bool) -> int:
    """Time plan, results.csv and report on a store of made-up runs.

    Every step is measured in a fresh process, on a tenth of the runs and on all of them; the difference in memory
    tells what a further run costs.
    """
    from lipgnn.bench.store import bench_store, bytes_a_run

    timings = list(bench_store(runs, repeats))
    growth = {small.step: bytes_a_run(small, large) for small, large in zip(timings[::2], timings[1::2], strict=True)}
    if as_json:
        steps = [{**asdict(timing), "bytes_a_run": growth[timing.step]} for timing in timings]
        console.print_json({"runs": runs, "repeats": repeats, "steps": steps})
        return 0
    columns = ("step", "runs", "seconds", "least–most", "peak MB", "KB a further run")
    rows = (
        (t.step, t.runs, t.seconds.median, _range(t.seconds), t.memory_mb.median, growth[t.step] / 1024)
        for t in timings
    )
    console.print_table(columns, rows, title=f"A store of {runs} made-up runs; medians of {repeats}")
    return 0


@command.command("sweep")
@repeats_option(5)
@json_option
@debug_option
def sweep(repeats: int, as_json: bool) -> int:
    """Time a tiny run inside a sweep beside the same run by `lipgnn train`.

    Both take turns. Only what a run costs beside its epochs is counted.
    """
    from lipgnn.bench.sweep import bench_sweep

    timing = bench_sweep(repeats, (*PROGRAM, "train"))
    if as_json:
        console.print_json({"repeats": repeats, **asdict(timing)})
        return 0
    rows = (
        ("lipgnn train, a process of its own", timing.train.median, _range(timing.train)),
        ("first run of a sweep's worker", timing.first, None),
        ("a later run, the worker is warm", timing.warm.median, _range(timing.warm)),
        ("train / warm", timing.ratio.median, _range(timing.ratio)),
    )
    title = f"Seconds of a run beside its epochs; medians of {repeats}"
    console.print_table(("way", "median", "least–most"), rows, title=title)
    return 0


def _range(spread: Spread) -> str:
    return f"{spread.low:.3g}–{spread.high:.3g}"
