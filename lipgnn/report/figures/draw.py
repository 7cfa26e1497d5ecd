"""Figures for print: a column wide, told apart by colour, marker and line, so that colour is never needed."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from lipgnn.report.figures.series import Panel, Point, Series
from lipgnn.results.recordings import GRADIENTS, SIMILARITY

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind readers can tell apart, the dark ones first.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
# One more than colours, so that colour and marker repeat together only after 72 series.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "p")
LINES = ("-", "--", "-.", ":")
# Inches; the width is that of one column of a two-column paper.
WIDTH, HEIGHT = 3.4, 2.5
# Depths that lie further apart than so many times the least are told apart on a logarithmic axis alone.
_FAR = 64
_WHEN = (("start of training", "--"), ("end of training", "-"))
_SIMILARITY = {
    "grad_mu": "similarity μ of gradient",
    "grad_norm": "norm of gradient",
    "feat_mu": "similarity μ of features",
    "feat_norm": "norm of features",
    "rank1": "residual to rank one",
}
# At the ends of the stack, which are what scatter plots show.
_ENDS = {"feat_mu": "μ of the output", "grad_mu": "μ of the first layer's gradient"}
# Letters of the legend that go into an inch, those that line and space of an entry take, and the height of a line.
_LETTERS, _ENTRY, _LINE = 14, 9, 0.17
ACROSS = 3

STYLE = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 4,
    "legend.frameon": False,
    # Names are shown as they are; a dollar sign is no formula.
    "text.parse_math": False,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}


def draw(kind: str, panels: Sequence[Panel], value: str, suffix: str) -> bytes:
    """Draw the panels.

    Parameters
    ----------
    kind : depth, curve, box, heat, largest, profile or scatter, as the panels were made.
    value : the name of what is drawn.
    suffix : png, svg or pdf.

    Returns
    -------
    the content of the file; the same data gives the same bytes.
    """
    import matplotlib
    from matplotlib.figure import Figure

    # A letter that the font lacks is drawn as a box; that is no reason to fail.
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": kind}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        down = math.ceil(len(panels) / ACROSS)
        across = math.ceil(len(panels) / down)
        figure = Figure(figsize=(WIDTH * across, HEIGHT * down), layout="constrained")
        places = list(figure.subplots(down, across, squeeze=False, sharey=kind in ("depth", "largest")).flat)
        labels = list(dict.fromkeys(series.label for panel in panels for series in panel.series))
        for axes, panel in zip(places, panels, strict=False):
            axes.set_title(panel.title, fontsize="medium")
            if kind == "profile":
                _draw_profile(axes, panel, labels)
            elif kind == "scatter":
                _draw_scatter(axes, panel, labels)
            elif kind != "heat":
                _draw_panel(axes, kind, panel, labels, _scale(value))
        if kind == "depth":
            _mark_depths(places, panels)
        for axes in places[len(panels) :]:
            axes.remove()
        if kind == "heat":
            _draw_heat(figure, places[: len(panels)], panels, value)
        elif kind != "scatter":
            over = ",\nlargest over layers" if kind == "largest" else ""
            figure.supylabel(_axis(value) + over, fontsize="medium", multialignment="center")
        if kind not in ("box", "heat"):
            _legend(figure, kind, labels, across, when=kind == "profile" and _any_changed(panels))
        content = io.BytesIO()
        undated = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None}}
        figure.savefig(content, format=suffix, dpi=200, metadata=undated.get(suffix))
    return content.getvalue()


def _draw_panel(axes: Axes, kind: str, panel: Panel, labels: Sequence[str], scale: float) -> None:
    if kind == "box":
        _draw_boxes(axes, panel.series, labels, scale)
        return
    axes.set_xlabel("layers" if kind == "depth" else "epoch")
    for series in panel.series:
        style = _style(kind, labels.index(series.label))
        if kind == "largest":
            _draw_line(axes, series.points, style, lambda logarithm: 10**logarithm)
        else:
            _draw_line(axes, series.points, style, lambda y: scale * y)
    if kind == "largest":
        _use_decades(axes, "y")


def _mark_depths(places: Sequence[Axes], panels: Sequence[Panel]) -> None:
    """Axes of depth, logarithmic in all panels where they are in one."""
    by_panel = [sorted({point.x for series in panel.series for point in series.points}) for panel in panels]
    far = any(depths[-1] > _FAR * depths[0] for depths in by_panel)
    for axes, depths in zip(places, by_panel, strict=False):
        if far:
            axes.set_xscale("log", base=2)
        if len(depths) <= 10:
            axes.set_xticks(depths, [str(depth) for depth in depths])
            axes.minorticks_off()


def _draw_line(axes: Axes, points: Sequence[Point], style: dict[str, Any], shown: Callable[[float], float]) -> None:
    xs = [point.x for point in points]
    axes.plot(xs, [shown(point.y) for point in points], **style)
    low = [shown(point.y - (point.std or 0)) for point in points]
    high = [shown(point.y + (point.std or 0)) for point in points]
    axes.fill_between(xs, low, high, color=style["color"], alpha=0.18, linewidth=0)


def _any_changed(panels: Sequence[Panel]) -> bool:
    """Whether a profile has a start and an end; one that was recorded once has neither."""
    points = (point for panel in panels for series in panel.series for point in series.points)
    return any(math.isfinite(point.start - point.y) and point.start != point.y for point in points)


def _draw_profile(axes: Axes, panel: Panel, labels: Sequence[str]) -> None:
    """The start of training dashed, its end solid, and between the least and the greatest of all epochs a shade."""
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel("layer")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    for series in panel.series:
        style = _style("profile", labels.index(series.label))
        xs = [point.x for point in series.points]
        axes.plot(xs, [10**point.start for point in series.points], color=style["color"], linestyle="--", linewidth=0.9)
        # As many markers as can be told apart, at other layers in every series.
        shown = (labels.index(series.label), max(len(xs) // 6, 1))
        axes.plot(xs, [10**point.y for point in series.points], markevery=shown, **style)
        low, high = [10**point.low for point in series.points], [10**point.high for point in series.points]
        axes.fill_between(xs, low, high, color=style["color"], alpha=0.12, linewidth=0)
    _use_decades(axes, "y")


def _draw_scatter(axes: Axes, panel: Panel, labels: Sequence[str]) -> None:
    """One dot a run; along logarithmic axes but for what is no similarity."""
    shown = [(lambda number: 10**number) if name in SIMILARITY else _percent(name) for name in panel.axes]
    for series in panel.series:
        style = _style("scatter", labels.index(series.label))
        axes.plot([shown[0](p.x) for p in series.points], [shown[1](p.y) for p in series.points], **style)
    for place, name in zip("xy", panel.axes, strict=True):
        if name in SIMILARITY:
            _use_decades(axes, place)
    axes.set_xlabel(_ENDS.get(panel.axes[0], _axis(panel.axes[0])))
    axes.set_ylabel(_ENDS.get(panel.axes[1], _axis(panel.axes[1])))


def _use_decades(axes: Axes, place: str) -> None:
    """A logarithmic axis, x or y, whose numbers are written without formulas, which this style does not set."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set(**{f"{place}scale": "log"})
    axis = {"x": axes.xaxis, "y": axes.yaxis}[place]
    low, high = axis.get_view_interval()
    subs = (1.0,) if high > 100 * low else (1.0, 2.0, 5.0) if high > 4 * low else tuple(range(1, 10))
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(lambda number, _: _short(number))
    axis.set_minor_formatter(NullFormatter())


def _short(number: float) -> str:
    """A number beside an axis, with as few characters as it takes: 0.05, 1000, 1e5, 2e-7."""
    if 1e-3 <= number < 1e4:
        return f"{number:g}"
    digit, exponent = f"{number:.0e}".split("e")
    return f"{digit}e{int(exponent)}"


def _draw_heat(figure: Figure, places: Sequence[Axes], panels: Sequence[Panel], value: str) -> None:
    """Epochs to the right, layers upwards, one scale of colours for all panels; grey where there is no number."""
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    numbers = [point.y for panel in panels for series in panel.series for point in series.points]
    shades = Normalize(min(numbers), max(numbers))
    colours = colormaps["viridis"].with_extremes(bad="#dddddd")
    for axes, panel in zip(places, panels, strict=True):
        grid, epochs = _grid(panel)
        below = int(panel.series[0].label) - 0.5
        extent = (epochs.start - epochs.step / 2, epochs.stop - epochs.step / 2, below, below + len(grid))
        image = axes.imshow(
            grid, cmap=colours, norm=shades, extent=extent, origin="lower", aspect="auto", interpolation="nearest"
        )
        axes.grid(visible=False)
        axes.set_xlabel("epoch")
    figure.supylabel("layer", fontsize="medium")
    figure.colorbar(image, ax=list(places), label=f"log10 {_axis(value)}")


def _grid(panel: Panel) -> tuple[np.ndarray, range]:
    """The numbers of a panel by layer and epoch, and the epochs, which may be every k-th."""
    import numpy as np

    seen = sorted({point.x for series in panel.series for point in series.points})
    step = min((later - earlier for earlier, later in pairwise(seen)), default=1)
    epochs = range(seen[0], seen[-1] + step, step)
    grid = np.full((len(panel.series), len(epochs)), np.nan)
    for layer, series in enumerate(panel.series):
        for point in series.points:
            grid[layer, (point.x - epochs.start) // step] = point.y
    return grid, epochs


def _draw_boxes(axes: Axes, series: Sequence[Series], labels: Sequence[str], scale: float) -> None:
    values = [[scale * point.y for point in one.points] for one in series]
    axes.boxplot(values, widths=0.5, showfliers=False, medianprops={"color": "black"})
    for place, (one, ys) in enumerate(zip(series, values, strict=True), start=1):
        style = _style("box", labels.index(one.label)) | {"linestyle": "none", "alpha": 0.8}
        # Spread by hand rather than by chance, so that the same data gives the same picture.
        xs = [place + 0.24 * (index / max(len(ys) - 1, 1) - 0.5) for index in range(len(ys))]
        axes.plot(xs, ys, **style)
    crowded = len(series) > 4 or max(len(one.label) for one in series) > 8
    axes.set_xticks(range(1, len(series) + 1), [one.label for one in series], rotation=30 if crowded else 0)
    axes.grid(visible=False, axis="x")


def _legend(figure: Figure, kind: str, labels: Sequence[str], across: int, *, when: bool) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=label, **_style(kind, index)) for index, label in enumerate(labels)]
    if when:
        handles += [Line2D([], [], label=label, color="#666666", linestyle=line) for label, line in _WHEN]
    letters = max(len(handle.get_label()) for handle in handles) + _ENTRY
    columns = min(max(int(WIDTH * across * _LETTERS / letters), 1), len(handles))
    # Further lines are not to be taken from the panels.
    figure.set_figheight(figure.get_figheight() + _LINE * (math.ceil(len(handles) / columns) - 1))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, handlelength=3)


def _style(kind: str, index: int) -> dict[str, Any]:
    return {
        "color": COLOURS[index % len(COLOURS)],
        # A marker for every epoch would hide the line.
        "marker": None if kind in ("curve", "largest") else MARKERS[index % len(MARKERS)],
        # Of a profile the line says when, and dots have none.
        "linestyle": {"profile": "-", "scatter": "none"}.get(kind, LINES[index % len(LINES)]),
    }


def _percent(value: str) -> Callable[[float], float]:
    return lambda number: _scale(value) * number


def _scale(value: str) -> float:
    return 100.0 if value.endswith("_score") else 1.0


def _axis(value: str) -> str:
    if value in GRADIENTS:
        of, _, kind = value.partition("_")
        kinds = {"norm": "norm", "mean": "mean entry", "max": "largest entry"}
        return f"{kinds[kind]} of {of} gradient"
    if value in SIMILARITY:
        return _SIMILARITY[value]
    words = {"accuracy": "accuracy", "val": "validation"}
    name = " ".join(words.get(word, word) for word in value.split("_"))
    return f"{name} (%)" if value.endswith("_score") else name
