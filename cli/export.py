"""`lipgnn export`: a trained model as a folder to hand on."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from cli import console
from cli.completion import complete_runs
from cli.options import debug_option, device_option, json_option, results_option
from lipgnn.results.store import Store

EPILOG = """\b
Examples:
  lipgnn export 3f2a -o model
  lipgnn export best.safetensors -o model
"""


@click.command("export", epilog=EPILOG)
@click.argument("model", metavar="RUN|FILE", shell_complete=complete_runs)
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write into this folder, which is new or empty, or holds this model already.",
)
@click.option("--force", is_flag=True, help="Replace another model that the folder holds.")
@device_option
@results_option
@json_option
@debug_option
def command(model: str, folder: Path, force: bool, device: str, results: Path, as_json: bool) -> int:
    """Write a model with all that others need to use it.

    The folder holds the weights (safetensors), every option of the run (spec.toml), a model card (README.md) with data,
    scores, intervals, command and limits, and a program that loads and uses it (example.py). RUN is a run's id, the
    start of one, its name, or its folder; FILE is a saved model such as best.safetensors.
    """
    store = Store(results)
    store.find_model(model)
    console.loading()

    from lipgnn.export import export

    files = export(store, model, folder, device=device, force=force)
    if as_json:
        console.print_json({what: str(path) for what, path in files.items()})
    else:
        console.print_panel(str(folder), [(what, path.name) for what, path in files.items()])
        console.print_next(
            shlex.join(["python", str(files["example"])]),
            shlex.join(["lipgnn", "predict", str(files["model"]), "-o", "predictions.csv"]),
        )
    return 0
