"""What `evaluate --figure` adds: the options, and the picture of where a model looks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli import console
from cli.outputs import OutputFile, check_picture
from lipgnn.errors import UsageError
from lipgnn.files import write_atomic

if TYPE_CHECKING:
    import torch

    from lipgnn.tasks import TaskData
    from lipgnn.tasks.saved import SavedModel

FIGURES = ("attention",)


def figure_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--figure`, `--image` and `--output`."""
    for option in (
        click.option(
            "--image",
            type=click.IntRange(min=0),
            metavar="N",
            help="Draw the image of this number in the test part, from 0 on.  [default: 0]",
        ),
        click.option(
            "-o", "--output", type=OutputFile(), metavar="FILE", help="Draw into this file: .png, .svg or .pdf."
        ),
        click.option(
            "--figure",
            type=click.Choice(FIGURES),
            help="Draw where each group element looks in an image into --output.",
        ),
    ):
        command = option(command)
    return command


def check_figure(figure: str | None, output: Path | None, image: int | None) -> None:
    """Refuse a figure without a file, and what is of a figure without one.

    Raises
    ------
    UsageError : says which.
    """
    if figure:
        check_picture(figure, output)
    elif output or image is not None:
        raise UsageError("-o and --image are of a figure, and none is asked for.", "Add --figure attention.")


def draw(
    saved: SavedModel, data: TaskData, device: torch.device, *, figure: str, output: Path, image: int | None
) -> None:
    """Write the picture, of the one kind there is."""
    from lipgnn.evaluate import looks
    from lipgnn.report.figures.attention import draw_attention

    number = image or 0
    found = looks(saved, data, device, number)
    title = f"{data.name}, test image {number}, class {found['label']}; {saved.spec.group}, last layer"
    write_atomic(output, draw_attention(found, title, output.suffix.lower().removeprefix(".")))
    console.note(f"Written: {output}")
