"""`lipgnn bench`: how long things take on this machine, each beside what it should be held against."""

from __future__ import annotations

import click

from cli.bench.attention import attention
from cli.bench.overhead import overhead
from cli.bench.train import train

EPILOG = """\b
Examples:
  lipgnn bench attention --nodes 17000 --width 8
  lipgnn bench train --layers 10,30 --csv train.csv
  lipgnn bench train --width 8 --what fused --breakdown
  lipgnn bench overhead --runs 10000
"""


@click.group("bench", epilog=EPILOG)
def command() -> None:
    """Measure kernels, epochs, and what the tool itself costs."""


for each in (attention, train, overhead):
    command.add_command(each)
