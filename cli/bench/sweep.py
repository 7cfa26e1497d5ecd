"""`lipgnn bench sweep`: what a run in a sweep costs beside `lipgnn train`."""

from __future__ import annotations

from dataclasses import asdict

import click

from cli import console
from cli.bench.options import PROGRAM, repeats_option
from cli.bench.output import extent
from cli.options import debug_option, json_option


@click.command("sweep")
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
        ("lipgnn train, a process of its own", timing.train.median, extent(timing.train)),
        ("first run of a sweep's worker", timing.first, None),
        ("a later run, the worker is warm", timing.warm.median, extent(timing.warm)),
        ("train / warm", timing.ratio.median, extent(timing.ratio)),
    )
    title = f"Seconds of a run beside its epochs; medians of {repeats}"
    console.print_table(("way", "median", "least–most"), rows, title=title)
    return 0
