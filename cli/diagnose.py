"""`lipgnn diagnose`: what depth does to a network, layer by layer, and what to do about it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from cli import console
from cli.completion import complete_runs
from cli.diagnose_view import show_diagnosis, show_epochs, write_files
from cli.options import (
    GroupedCommand,
    config_option,
    debug_option,
    json_option,
    preset_option,
    results_option,
    spec_options_but,
    state_option,
)
from cli.outputs import OutputFile
from lipgnn.diagnose.over import over_epochs
from lipgnn.diagnose.subject import SubjectRequest
from lipgnn.errors import UsageError
from lipgnn.results.store import Store

# Nodes whose outputs --reach looks at, where no number is given.
TARGETS = 16

EPILOG = """\b
Examples:
  lipgnn diagnose 3f2a
  lipgnn diagnose 3f2a --ablate skip,norm --figure layers.pdf
  lipgnn diagnose 3f2a --over epochs --figure epochs.png
  lipgnn diagnose 3f2a --at last-good
  lipgnn diagnose 3f2a --reach --figure reach.pdf
  lipgnn diagnose --init --layers 64 --residual identity --norm none
  lipgnn diagnose --init --layers 6 --residual identity --activation none --norm none --paths 10 --json
"""


@click.command("diagnose", cls=GroupedCommand, epilog=EPILOG)
@click.argument("reference", metavar="[RUN|FILE]", required=False, shell_complete=complete_runs)
@click.option(
    "--init",
    is_flag=False,
    flag_value="",
    metavar="[NAME]",
    help="Look at the network before training; NAME says how its maps start, as --init of `lipgnn train` does.",
)
@state_option
@click.option(
    "--over",
    type=click.Choice(("epochs",)),
    help="Show how the run went, from what `lipgnn train --record similarity` kept.",
)
@click.option("--ablate", metavar="PART,…", help="Show score and residual also without these parts: skip, mlp, norm.")
@click.option(
    "--paths",
    is_flag=False,
    flag_value="0",
    type=click.IntRange(min=0),
    metavar="[K]",
    help="Split the output by the length of its paths, and show K single paths.",
)
@click.option(
    "--path-length",
    type=click.IntRange(min=0),
    metavar="N",
    help="Show single paths of this length only.  [default: any]",
)
@click.option(
    "--reach",
    is_flag=False,
    flag_value=str(TARGETS),
    type=click.IntRange(min=1),
    metavar="[TARGETS]",
    help="Show how far the network looks: the share of each distance in the outputs of this many nodes, "
    f"{TARGETS} if no number is given. --figure then draws it.",
)
@click.option("--certify", is_flag=True, help="Measure how much every layer really stretches, which takes longer.")
@click.option("--all", "everything", is_flag=True, help="Measure and show every layer of a deep network.")
@click.option("--csv", "table", type=OutputFile(), metavar="FILE", help="Write the table as CSV into this file.")
@click.option(
    "--figure",
    type=OutputFile(),
    metavar="FILE",
    help="Draw the numbers into this file: .png, .svg or .pdf.",
)
@preset_option
@spec_options_but("init", "reach", "workers")
@config_option
@results_option
@json_option
@debug_option
def command(
    reference: str | None,
    init: str | None,
    state: str | None,
    over: str | None,
    ablate: str | None,
    paths: int | None,
    path_length: int | None,
    reach: int | None,
    certify: bool,
    everything: bool,
    table: Path | None,
    figure: Path | None,
    config: Path | None,
    preset: str | None,
    results: Path,
    as_json: bool,
    **options: Any,
) -> int:
    """Look at a network layer by layer, and judge it.

    The numbers are gradients, similarity, rank, attention and bounds; the verdict says what they mean and what to try.
    RUN is a run's id, the start of one, its name, or its folder; --init takes the options of `lipgnn train`.
    """
    given = {name: value for name, value in {**options, "init": init or None}.items() if value is not None}
    request = SubjectRequest(reference, init is not None, given, config, preset, state)
    if path_length is not None and not paths:
        raise UsageError("--path-length is of single paths.", "Say how many: --paths 10")
    console.loading()
    if over:
        show_epochs(over_epochs(reference, Store(results)), table, figure, as_json=as_json)
        return 0
    subject = request.subject(Store(results), os.environ)

    from lipgnn.diagnose.diagnosis import diagnose

    without = [part.strip() for part in ablate.split(",")] if ablate else ()
    wishes = {"certify": certify, "every_layer": everything, "without": without, "targets": reach}
    diagnosis = diagnose(subject, given.get("device", "auto"), **wishes, paths=paths, path_length=path_length)
    write_files(diagnosis.to_dict(), table, figure)
    if as_json:
        console.print_json(diagnosis.to_dict())
    else:
        show_diagnosis(diagnosis, results, everything=everything)
    return 0
