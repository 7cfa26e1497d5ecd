"""What `evaluate --certify` adds: the options and how a certificate is shown."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from cli import console
from cli.progress import StatusLine
from lipgnn.errors import UsageError

if TYPE_CHECKING:
    import torch

    from lipgnn.datasets import Dataset
    from lipgnn.tasks.saved import SavedModel


def certify_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--certify`, `--radii` and `--tries`."""
    for option in (
        click.option(
            "--tries",
            type=click.IntRange(min=0),
            metavar="N",
            help="Attack the certified nodes this many times.  [default: 20]",
        ),
        click.option(
            "--radii",
            metavar="R,…",
            help="Count the nodes certified against changes of these lengths.  [default: by the features]",
        ),
        click.option("--certify", is_flag=True, help="Show certified bounds and radii, and check them by attack."),
    ):
        command = option(command)
    return command


def certify_arguments(certify: bool, radii: str | None, tries: int | None) -> dict[str, Any] | None:
    """What `lipgnn.certify.certify` is called with; None where no certificate is asked for.

    Raises
    ------
    UsageError : radii that are none, or an option without --certify.
    """
    if not certify:
        if radii is not None or tries is not None:
            raise UsageError("--radii and --tries are about a certificate.", "Add --certify.")
        return None
    return {"radii": None if radii is None else _radii(radii), **({} if tries is None else {"tries": tries})}


def certificate_of(saved: SavedModel, data: Dataset, device: torch.device, arguments: dict[str, Any]) -> dict[str, Any]:
    """The certificate as plain values; what is being done is shown on the way."""
    from lipgnn.certify import certify

    with StatusLine() as tell:
        return asdict(certify(saved, data, device, **arguments, progress=tell))


def show_certificate(certificate: dict[str, Any]) -> None:
    """Tables on stdout, the verdict last."""
    network, attack = certificate["network"], certificate["attack"]
    whole = network["bound"] if network["bound"] is not None else _power_of_ten(network["log10_bound"])
    console.print_table(
        ["layer", "certified", "at the data"],
        [
            ["encoder", network["encoder"], network["encoder"]],
            *([row["layer"], row["bound"], row["empirical"]] for row in certificate["layers"]),
            ["decoder", network["decoder"], network["decoder"]],
            ["network", whole, network["empirical"]],
        ],
        title="Lipschitz constants",
    )
    console.print_table(
        ["radius", "of a node's features", "test nodes certified", "and right"],
        ([row[key] for key in ("radius", "relative", "certified", "accuracy")] for row in certificate["radii"]),
        title="Certified at",
    )
    if attack["tries"]:
        within = {"multiple": 1, "tried": attack["tries"], "flipped": attack["flipped"]}
        console.print_table(
            ["times the radius", "attacks", "flipped"],
            ([row[key] for key in ("multiple", "tried", "flipped")] for row in (within, *attack["multiples"])),
            title="Attacked at",
        )
    console.print_text(certificate["verdict"])


def _power_of_ten(log10: float | None) -> str | None:
    """A number that is too large to be one."""
    return None if log10 is None else f"10^{log10:.1f}"


def _radii(text: str) -> list[float]:
    try:
        radii = [float(part) for part in text.split(",")]
    except ValueError:
        radii = []
    if not radii or not all(0 < radius < math.inf for radius in radii):
        raise UsageError(
            f"--radii takes positive numbers with commas between them, got {text!r}.", "For instance 1e-4,1e-3"
        )
    return radii
