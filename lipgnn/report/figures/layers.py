"""The figure of one network, layer by layer: gradients, similarity, rank and residual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lipgnn.report.figures.canvas import content_of
from lipgnn.report.figures.style import COLOURS, HEIGHT, LINES, WIDTH, in_print

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Title, whether its axis is logarithmic, and what is drawn: a column of a profile and what it is called.
PANELS = (
    ("gradient", True, {"grad_norm": "length", "grad_mu": "similarity μ", "weight_grad": "of weights, length"}),
    ("similarity", True, {"feat_ratio": "μ over length", "mad": "distance of neighbours"}),
    ("rank", False, {"rank": "numerical", "effective_rank": "effective"}),
    ("residual to rank one", True, {"rank1_residual": "residual"}),
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
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    for index, (column, label) in enumerate(curves.items()):
        points = [(row["layer"], row[column]) for row in rows if row[column] is not None]
        # A logarithmic axis has no zero.
        points = [point for point in points if point[1] > 0 or not decades]
        xs, ys = zip(*points, strict=True) if points else ((), ())
        axes.plot(xs, ys, label=label, color=COLOURS[index], linestyle=LINES[index])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if decades:
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high > 100 * low else (1.0, 2.0, 5.0)))
        # Written without formulas, which this style does not set.
        axes.yaxis.set_major_formatter(lambda number, _: f"{number:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(bottom=0)
    axes.legend()
