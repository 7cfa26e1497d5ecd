"""`lipgnn extrapolate`: where a walker goes on to, by a saved model."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli import console
from cli.completion import complete_runs
from cli.extrapolate_view import FIGURES, picture, show, to_csv
from cli.options import debug_option, device_option, json_option, results_option, results_words
from cli.outputs import OutputFile, check_picture
from lipgnn.errors import UsageError
from lipgnn.files import write_atomic
from lipgnn.results.store import Store

if TYPE_CHECKING:
    from lipgnn.datasets.trajectories import PathDataset
    from lipgnn.extrapolate import Extrapolation

EPILOG = """\b
Examples:
  lipgnn extrapolate 3f2a --prefix trajectory:test
  lipgnn extrapolate 3f2a --prefix trajectory:183:7 --samples 20 --figure map -o map.pdf
  lipgnn extrapolate 3f2a --prefix 17038,14939,1303,628,1302 --steps 12 --top 3 --json
  lipgnn extrapolate 3f2a --prefix seen.txt --steps 12 --likelihood paths.txt --csv
"""


@click.command("extrapolate", epilog=EPILOG)
@click.argument("model", metavar="RUN|FILE", shell_complete=complete_runs)
@click.option(
    "--prefix",
    required=True,
    metavar="IDS|FILE|trajectory:T[:LENGTH]",
    help="Take these observations, the earliest first: node ids between commas; a file with a line for each, as "
    "observations.txt without its header; or the first LENGTH of trajectory T of the data set, where T is a number "
    "from 0 on or the word test.",
)
@click.option(
    "--steps",
    type=int,
    metavar="S",
    help="Walk this many edges.  [default: as many as the true path has, of a trajectory]",
)
@click.option(
    "--samples",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Draw this many continuations at random.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0, max=2**63 - 1),
    default=0,
    show_default=True,
    metavar="K",
    help="Draw with this seed; the same seed gives the same continuations.",
)
@click.option(
    "--likelihood",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Say how likely the continuations in this file are: a line for each, its node ids between tabs or commas.",
)
@click.option(
    "--top", type=click.IntRange(min=1), default=10, show_default=True, metavar="K", help="Show this many ends."
)
@click.option("--figure", type=click.Choice(FIGURES), help="Draw a map of it into --output.")
@click.option("-o", "--output", type=OutputFile(), metavar="FILE", help="Draw into this file: .png, .svg or .pdf.")
@click.option("--dataset", metavar="NAME", help="Extrapolate on another data set of the same shape.")
@device_option
@results_option
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print a table as CSV on stdout.")
@debug_option
def command(
    model: str,
    top: int,
    figure: str | None,
    output: Path | None,
    results: Path,
    as_json: bool,
    as_csv: bool,
    **question: Any,
) -> int:
    """Predict where an observed path continues.

    It shows the most probable ends after S steps, continuations that are drawn by their probabilities, and how likely
    given ones are. The model walks from the last observation as it was trained to. RUN is a run's id, the start of
    one, its name, or its folder; FILE is a saved model such as best.safetensors.
    """
    _check_outputs(figure, output, as_json=as_json, as_csv=as_csv)
    path = Store(results).find_model(model)
    found, data = _answer(path, **question)
    if output:
        write_atomic(output, picture(found, data, output.suffix.lower().removeprefix(".")))
        console.note(f"Written: {output}")
    shown = {"model": str(path), "dataset": data.name, "fingerprint": data.fingerprint, **found.to_dict(top)}
    if as_json:
        console.print_json(shown)
    elif as_csv:
        click.echo(to_csv(shown), nl=False)
    else:
        show(shown)
        if not output and data.coordinates is not None:
            words = ["lipgnn", "extrapolate", model, "--prefix", question["prefix"], "--steps", str(found.steps)]
            words += ["--dataset", question["dataset"]] if question["dataset"] else []
            words += ["--samples", "20", "--figure", "map", "-o", "map.png", *results_words(results)]
            console.print_next(shlex.join(words))
    return 0


def _answer(
    path: Path, *, prefix: str, likelihood: Path | None, dataset: str | None, device: str, **orders: Any
) -> tuple[Extrapolation, PathDataset]:
    """What the model says, and the data that it speaks of."""
    console.loading()

    from lipgnn.evaluate import data_for
    from lipgnn.extrapolate import check_task, extrapolate, prefix_of, read_continuations
    from lipgnn.runtime import choose_device
    from lipgnn.tasks.saved import load_model

    saved = load_model(path)
    check_task(saved)
    data = data_for(saved, dataset)
    check_task(saved, data)
    given = read_continuations(likelihood, data) if likelihood else None
    observed = prefix_of(prefix, data, saved.spec)
    return extrapolate(saved, data, observed, choose_device(device)[0], continuations=given, **orders), data


def _check_outputs(figure: str | None, output: Path | None, *, as_json: bool, as_csv: bool) -> None:
    if figure:
        check_picture(figure, output)
    elif output:
        raise UsageError("-o is where a figure is drawn to, and none is asked for.", "Use --figure map.")
    if as_json and as_csv:
        raise UsageError("--json and --csv contradict each other.", "Leave one of them out.")
