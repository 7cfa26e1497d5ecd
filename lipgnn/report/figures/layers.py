"""The figure of one network, layer by layer: gradients, similarity, rank and residual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lipgnn.report.figures.canvas import content_of
from lipgnn.report.figures.style import COLOURS, HEIGHT, LINES, WIDTH, in_print, use_decades, use_whole_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Title, whether its axis is logarithmic, and what is drawn: a column of a profile and what it is called.
PANELS = (
    (
        "gradient",
        True,
        {"grad_norm": "length", "grad_mu": "spread over nodes, μ", "weight_grad": "length, of weights"},
    ),
    (
        "difference between nodes (0: alike)",
        True,
        {"feat_ratio": "spread over length, μ/‖X‖", "mad": "distance of neighbours"},
    ),
    ("rank of the features", False, {"rank": "numerical", "effective_rank": "effective"}),
    ("residual to rank one (0: nodes alike)", True, {"rank1_residual": "residual"}),
)


def draw_layers(rows: Sequence[Mapping[str, Any]], title: str, suffix: str) -> bytes:
    """Draw the rows of a profile (see lipgnn.diagnose.profile); what is not finite is left out.

    Parameters
    ----------
    suffix : one of SUFFIXES.

    Returns
    -------
    the content of the file; the same rows give the same bytes.
    """
    with in_print("layers"):
        return content_of(layers_sheet(rows, title), suffix)


def layers_sheet(rows: Sequence[Mapping[str, Any]], title: str) -> Figure:
    """The same as an object of matplotlib."""
    with in_print("layers"):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(2 * WIDTH, 2 * HEIGHT), layout="constrained")
        figure.suptitle(title, fontsize="medium")
        for axes, (name, decades, curves) in zip(figure.subplots(2, 2).flat, PANELS, strict=True):
            axes.set_title(name, fontsize="medium")
            axes.set_xlabel("layer")
            _draw_curves(axes, rows, curves, decades=decades)
        return figure


def _draw_curves(axes: Axes, rows: Sequence[Mapping[str, Any]], curves: Mapping[str, str], *, decades: bool) -> None:
    for index, (column, label) in enumerate(curves.items()):
        points = [(row["layer"], row[column]) for row in rows if row[column] is not None]
        # A logarithmic axis has no zero.
        points = [point for point in points if point[1] > 0 or not decades]
        xs, ys = zip(*points, strict=True) if points else ((), ())
        axes.plot(xs, ys, label=label, color=COLOURS[index], linestyle=LINES[index])
    use_whole_numbers(axes)
    if decades:
        use_decades(axes, "y")
    else:
        axes.set_ylim(bottom=0)
    axes.legend()
