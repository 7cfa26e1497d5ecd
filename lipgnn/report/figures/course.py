"""The figure of one run: its losses and scores by epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lipgnn.report.figures.style import COLOURS, HEIGHT, LINES, WIDTH, in_print

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What is drawn of a log line, and what it is called: the first panel, then the second.
LOSSES = {"train_loss": "training", "val_loss": "validation"}
SCORES = {"train_score": "training", "val_score": "validation", "test_score": "test"}


def course_sheet(log: Sequence[Mapping[str, Any]], title: str, metric: str, best: int | None) -> Figure:
    """Draw the log of a run, as an object of matplotlib.

    Parameters
    ----------
    log : its lines (see `lipgnn.training.selection.Epoch`).
    metric : what the scores are, in words.
    best : the epoch that was selected, marked by a line, if any was.
    """
    with in_print("course"):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(2 * WIDTH, HEIGHT), layout="constrained")
        figure.suptitle(title, fontsize="medium")
        panels = (("loss", LOSSES), (metric, SCORES))
        for axes, (name, curves) in zip(figure.subplots(1, 2).flat, panels, strict=True):
            axes.set(xlabel="epoch", ylabel=name)
            for index, (column, label) in enumerate(curves.items()):
                points = [(line["epoch"], line[column]) for line in log]
                axes.plot(*zip(*points, strict=True), label=label, color=COLOURS[index], linestyle=LINES[index])
            if best is not None:
                axes.axvline(best, color="#999999", linewidth=0.8, label="selected epoch")
            axes.legend()
        return figure
