"""`lipgnn datasets`: what there is, what it looks like, where it lies, whether it is whole, and how to get more."""

from __future__ import annotations

import click

from cli.datasets.fetch import fetch
from cli.datasets.importing import import_
from cli.datasets.show import list_, path, show
from cli.datasets.verify import verify

EPILOG = """\b
Examples:
  lipgnn datasets list
  lipgnn datasets show cora
  lipgnn datasets fetch ogbn-arxiv
  lipgnn datasets import my-nodes.csv --name mine
  lipgnn train --dataset mine --split random:0
"""


@click.group("datasets", epilog=EPILOG)
def command() -> None:
    """List, describe, check, fetch and import data sets."""


for each in (list_, show, path, verify, fetch, import_):
    command.add_command(each)
