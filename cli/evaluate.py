"""`lipgnn evaluate`: a saved model on its own data or on other data of the same shape."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from cli import console
from cli.attention import check_figure, draw, figure_options
from cli.certificate import certificate_of, certify_arguments, certify_options, show_certificate
from cli.completion import complete_runs
from cli.options import debug_option, device_option, json_option, model_file, results_option, state_option
from lipgnn.catalog import METRICS
from lipgnn.diagnose.course import divergence_of

EPILOG = """\b
Examples:
  lipgnn evaluate 3f2a
  lipgnn evaluate results/runs/3f2a91c07b5d
  lipgnn evaluate best.safetensors --dataset my-cora.npz --json
  lipgnn evaluate 3f2a --certify --tries 100
  lipgnn evaluate 3f2a --at last-good
  lipgnn evaluate 3f2a --rotations --figure attention -o attention.png
"""


@click.command("evaluate", epilog=EPILOG)
@click.argument("model", metavar="RUN|FILE", shell_complete=complete_runs)
@click.option("--dataset", metavar="NAME", help="Evaluate on another data set of the same shape.")
@click.option("--split", metavar="NAME", help="Evaluate on another split than the one it was trained on.")
@state_option
@device_option
@certify_options
@click.option("--rotations", is_flag=True, help="Show scores of turned and mirrored images, and errors by layer.")
@figure_options
@results_option
@json_option
@debug_option
def command(
    model: str,
    dataset: str | None,
    split: str | None,
    state: str | None,
    device: str,
    certify: bool,
    radii: str | None,
    tries: int | None,
    rotations: bool,
    results: Path,
    as_json: bool,
    **picture: Any,
) -> int:
    """Evaluate a saved model, and certify it.

    It shows the scores, a table by class, the confusion between classes, and the entropy of the attention by layer.
    RUN is a run's id, the start of one, its name, or its folder; FILE is a saved model such as best.safetensors.
    """
    arguments = certify_arguments(certify, radii, tries)
    check_figure(**picture)
    path = model_file(model, results, state)

    from lipgnn.evaluate import data_for, evaluate
    from lipgnn.runtime import choose_device
    from lipgnn.tasks.saved import load_model

    saved = load_model(path)
    data = data_for(saved, dataset, split)
    chosen, reason = choose_device(device)
    evaluation = asdict(evaluate(saved, data, chosen, rotations=rotations))
    if picture["figure"]:
        draw(saved, data, chosen, **picture)
    summary = {"model": str(path), "dataset": data.name, "fingerprint": data.fingerprint}
    summary |= {"trained_on": saved.fingerprint, "device": str(chosen)}
    certificate = {} if arguments is None else {"certificate": certificate_of(saved, data, chosen, arguments)}
    if as_json:
        console.print_json({**summary, **evaluation, **certificate})
    else:
        if sentence := divergence_of(path):
            console.note(f"Note: {sentence}")
        _show({**summary, **evaluation, **certificate}, f"{chosen} ({reason})")
    return 0


def _show(result: dict[str, Any], device: str) -> None:
    metric = METRICS[result["metric"]].words
    official = result["official"] or {}
    scores = [
        (f"{part} {metric}", console.cell(value) + (f" (OGB: {console.cell(official[part])})" if official else ""))
        for part, value in result["accuracy"].items()
    ]
    facts = [("data set", f"{result['dataset']} ({result['fingerprint']})"), ("device", device), *scores]
    console.print_panel(result["model"], facts)
    if result["classes"] is not None:
        _show_classes(result)
    if result["attention_entropy"] is not None:
        layers = ((k, value) for k, value in enumerate(result["attention_entropy"], start=1))
        console.print_table(["layer", "attention entropy"], layers, title="Attention (1 is uniform)")
    for table in result["tables"].values():
        _show_table(table)
    if "certificate" in result:
        show_certificate(result["certificate"])


def _show_table(table: dict[str, Any]) -> None:
    """Columns without a single value are left out."""
    rows, decimals = table["rows"], table["decimals"]
    columns = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    console.print_table(
        [name.replace("_", " ") for name in columns],
        ([row[name] for name in columns] for row in rows),
        title=table["title"],
        below=table["notes"],
        decimals=[decimals.get(name) for name in columns],
    )


def _show_classes(result: dict[str, Any]) -> None:
    keys = ("class", "support", "precision", "recall", "f1")
    console.print_table(keys, ([row[key] for key in keys] for row in result["classes"]), title="Test, by class")
    names = [row["class"] for row in result["classes"]]
    console.print_table(
        ["true \\ predicted", *(str(k) for k in range(len(names)))],
        ([f"{k} {name}", *row] for k, (name, row) in enumerate(zip(names, result["confusion"], strict=True))),
        title="Confusion",
    )
