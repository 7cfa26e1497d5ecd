"""`lipgnn bench store`: what plan, results.csv and report cost when there are many runs."""

from __future__ import annotations

from dataclasses import asdict

import click

from cli import console
from cli.bench.options import repeats_option
from cli.bench.output import extent
from cli.options import debug_option, json_option


@click.command("store")
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
        (t.step, t.runs, t.seconds.median, extent(t.seconds), t.memory_mb.median, growth[t.step] / 1024)
        for t in timings
    )
    console.print_table(columns, rows, title=f"A store of {runs} made-up runs; medians of {repeats}")
    return 0
