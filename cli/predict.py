"""`lipgnn predict`: what a saved model says of every node of a graph, with or without labels."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from cli import console
from cli.completion import complete_runs
from cli.options import debug_option, device_option, json_option, model_file, results_option, results_words
from cli.outputs import OutputFile
from lipgnn.predict.writing import WRITERS, check_suffix, to_csv, write_prediction

if TYPE_CHECKING:
    from lipgnn.predict.prediction import Prediction

EPILOG = """\b
Examples:
  lipgnn predict 3f2a -o predictions.csv
  lipgnn predict 3f2a --dataset new/nodes.csv -o predictions.parquet
  lipgnn predict model/model.safetensors --dataset large.npz --batch-size 50000 -o predictions.npz
  lipgnn predict 3f2a --certify | sort -t, -k4 -g | head
"""
# As many ids as are shown to say which nodes are the least certain.
_SHOWN = 5


@click.command("predict", epilog=EPILOG)
@click.argument("model", metavar="RUN|FILE", shell_complete=complete_runs)
@click.option(
    "--dataset",
    metavar="NAME",
    help="Predict on this graph, which has the features of the model's own; it needs no labels and no split.  "
    "[default: the model's own data]",
)
@click.option(
    "-o",
    "--output",
    type=OutputFile(),
    metavar="FILE",
    help=f"Write to this file: {', '.join(WRITERS)}.  [default: CSV on stdout]",
)
@click.option("--certify", is_flag=True, help="Add the certified radius of every node.")
@click.option(
    "--batch-size",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Compute this many nodes at a time, where a graph does not fit into memory; 0 is all at once.",
)
@device_option
@results_option
@json_option
@debug_option
def command(
    model: str,
    dataset: str | None,
    output: Path | None,
    certify: bool,
    batch_size: int,
    device: str,
    results: Path,
    as_json: bool,
) -> int:
    """Predict the class of every node of a graph.

    The columns are the node's id as its file has it, the predicted class, its probability, its margin over the next
    class, with --certify the certified radius, and the probability of every class. RUN is a run's id, the start of one,
    its name, or its folder; FILE is a saved model such as best.safetensors.
    """
    if output:
        check_suffix(output)
    path = model_file(model, results)

    from lipgnn.predict.inputs import data_to_predict
    from lipgnn.predict.prediction import predict
    from lipgnn.runtime import choose_device
    from lipgnn.tasks.saved import load_model

    saved = load_model(path)
    data = data_to_predict(saved, dataset)
    chosen, reason = choose_device(device)
    found = predict(saved, data, chosen, batch_size=batch_size, certify=certify)
    if output:
        write_prediction(found, output)
    if as_json or output:
        prints = {"fingerprint": data.fingerprint, "trained_on": saved.fingerprint}
        summary = {"model": str(path), "dataset": data.name, **prints, "device": str(chosen), **_counts(found)}
    if as_json:
        predictions = {} if output else {"predictions": found.to_pandas().to_dict("records")}
        console.print_json({**summary, **({"output": str(output)} if output else {}), **predictions})
    elif output:
        _show(summary, found, f"{chosen} ({reason})", output)
        if not Path(model).is_file():
            words = ["lipgnn", "export", model, "-o", f"model-{path.parent.name}", *results_words(results)]
            console.print_next(shlex.join(words))
    else:
        click.echo(to_csv(found), nl=False)
    return 0


def _counts(found: Prediction) -> dict[str, Any]:
    """How many items of each class are predicted, and what is certain of them."""
    items = {"items": len(found), "classes": list(found.classes)}
    if found.chosen is None:
        return items
    counts = np.bincount(found.chosen, minlength=len(found.classes)).tolist()
    certified = {} if found.radius is None else {"certified": int((found.radius > 0).sum())}
    predicted = dict(zip(found.classes, counts, strict=True))
    return {**items, "predicted": predicted, **certified, "uncertified": found.uncertified}


def _show(summary: dict[str, Any], found: Prediction, device: str, output: Path) -> None:
    facts = [("data set", f"{summary['dataset']} ({summary['fingerprint']})"), ("device", device)]
    facts += [("predicted", f"{len(found):,}"), ("written", str(output))]
    if found.margin is not None:
        least = np.argsort(found.margin, kind="stable")[:_SHOWN]
        facts.insert(3, ("least certain", ", ".join(found.ids[least])))
    if found.radius is not None:
        told = f"none: there is no bound ({found.uncertified})" if found.uncertified else f"{summary['certified']:,}"
        facts.insert(3, ("with a radius above 0", told))
    console.print_panel(summary["model"], facts)
    if found.chosen is not None:
        rows = ([name, count, count / len(found)] for name, count in summary["predicted"].items())
        console.print_table(["class", "predicted", "share"], rows)
