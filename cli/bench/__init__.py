"""`lipgnn bench`: how long things take on this machine, each beside what it should be held against."""

from __future__ import annotations

import click

from cli.bench.attention import attention
from cli.bench.profile import profile
from cli.bench.scaling import scaling
from cli.bench.seeds import seeds
from cli.bench.start import start
from cli.bench.store import store
from cli.bench.sweep import sweep
from cli.bench.train import train

EPILOG = """\b
Examples:
  lipgnn bench attention --nodes 17000 --edges 250000 --width 8
  lipgnn bench train --layers 10,30 --csv train.csv
  lipgnn bench scaling --against edges,depth
  lipgnn bench sweep --repeats 9 --json
"""


@click.group("bench", epilog=EPILOG)
def command() -> None:
    """Measure kernels, epochs, and what the tool itself costs."""


for each in (attention, train, profile, scaling, seeds, start, store, sweep):
    command.add_command(each)
