"""How figures look in print: a column wide, told apart by colour, marker and line, so that colour is never needed."""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import sys
import warnings
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from lipgnn.report.table.values import in_percent, words_of
from lipgnn.results.recordings import GRADIENTS, REACH, SIMILARITY, TRAFFIC

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which colour-blind readers can tell apart, the dark ones first.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
# One more than colours, so that colour and marker repeat together only after 72 series.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "p")
LINES = ("-", "--", "-.", ":")
# Inches; the width is that of one column of a two-column paper.
WIDTH, HEIGHT = 3.4, 2.5

_STYLE = {
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
_SIMILARITY = {
    "grad_mu": "spread of gradient over nodes, μ",
    "grad_norm": "norm of gradient",
    "feat_mu": "spread of features over nodes, μ",
    "feat_norm": "norm of features",
    "rank1": "residual to rank one (0: nodes alike)",
}

# Decades between which powers of ten are enough to read an axis, and below which 1, 2 and 5 are too few.
_ENOUGH, _FEW = 2.0, 0.6
# An axis has at most so many numbers; the decades from one to the next are one of these.
_MOST_TICKS, _STEPS = 7, (1, 2, 5, 10, 20, 50, 100, 200)
# With fewer numbers than two nobody can read an axis; where it takes a linear scale to have them, so many steps do.
_FEWEST_TICKS, _LINEAR_BINS = 2, 4


@contextlib.contextmanager
def in_print(salt: str) -> Iterator[None]:
    """Draw in this style, and so that the same data gives the same bytes.

    Parameters
    ----------
    salt : makes the names inside an SVG file, which figures on one page must not share.
    """
    with _out_of_the_folder():
        import matplotlib

    # A letter that the font lacks is drawn as a box; that is no reason to fail.
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**_STYLE, "svg.hashsalt": salt})
        warnings.filterwarnings("ignore", message="Glyph")
        yield


@contextlib.contextmanager
def _out_of_the_folder() -> Iterator[None]:
    """Let matplotlib, imported for the first time, find no settings in the working folder.

    It takes the matplotlibrc there before any other, and there is no way to ask it not to. So the working folder is
    matplotlib's own meanwhile.
    """
    if "matplotlib" in sys.modules:
        yield
        return
    (own,) = importlib.util.find_spec("matplotlib").submodule_search_locations
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(own)
        yield
    finally:
        os.fchdir(here)
        os.close(here)


def look(index: int, *, marker: bool = True, line: str | None = None) -> dict[str, Any]:
    """How the series with this number is drawn.

    Parameters
    ----------
    marker : whether it has one; one for every epoch would hide the line.
    line : in place of its own.
    """
    return {
        "color": COLOURS[index % len(COLOURS)],
        "marker": MARKERS[index % len(MARKERS)] if marker else None,
        "linestyle": line or LINES[index % len(LINES)],
    }


def axis_words(value: str, metrics: Collection[str]) -> str:
    """What stands beside an axis along which a value lies; `metrics` are those of the runs drawn."""
    if value in GRADIENTS:
        of, _, kind = value.partition("_")
        kinds = {"norm": "norm", "mean": "mean entry", "max": "largest entry"}
        return f"{kinds[kind]} of {of} gradient"
    if value in SIMILARITY:
        return _SIMILARITY[value]
    if value in TRAFFIC:
        return {"objective_course": "training loss + penalty", "sent_course": "sent (MB)"}[value]
    if value in REACH:
        return "share of a node's output (%)"
    words = words_of(value, metrics)
    return f"{words} (%)" if in_percent(value) else words


def use_decades(axes: Axes, place: str) -> None:
    """Make an axis, x or y, logarithmic, its numbers written without formulas, which this style does not set."""
    from matplotlib.ticker import Locator, NullFormatter, NullLocator

    class Decades(Locator):
        """Asked when the figure is drawn, when its axes have their limits."""

        def __call__(self) -> list[float]:
            return self.tick_values(*self.axis.get_view_interval())

        def tick_values(self, low: float, high: float) -> list[float]:
            return decades(low, high)

    axes.set(**{f"{place}scale": "log"})
    axis = {"x": axes.xaxis, "y": axes.yaxis}[place]
    axis.set_major_locator(Decades())
    axis.set_major_formatter(lambda number, _: _short(number))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def use_whole_numbers(axes: Axes, places: str = "x") -> None:
    """Number axes, of x, y or both, by whole numbers alone."""
    from matplotlib.ticker import MaxNLocator

    for place in places:
        {"x": axes.xaxis, "y": axes.yaxis}[place].set_major_locator(MaxNLocator(integer=True))


def decades(low: float, high: float) -> list[float]:
    """Round numbers between two positive ones: powers of ten, where they are far apart those of every k-th decade.

    Less than two decades have 1, 2 and 5 times a power of ten, and less than half of one has all multiples;
    where fewer than two of these lie between, it has what a linear axis would have.
    """
    from matplotlib.ticker import MaxNLocator

    if not 0 < low < high:
        return []
    first, last = math.log10(low), math.log10(high)
    span = last - first
    if span < _ENOUGH:
        factors = (1, 2, 5) if span > _FEW else range(1, 10)
        powers = range(math.floor(first), math.floor(last) + 1)
        ticks = [float(f"{factor}e{power}") for power in powers for factor in factors]
    else:
        step = next(step for step in _STEPS if span / step <= _MOST_TICKS)
        ticks = [float(f"1e{power}") for power in range(step * math.ceil(first / step), math.floor(last) + 1, step)]
    kept = [tick for tick in ticks if low <= tick <= high]
    if len(kept) < _FEWEST_TICKS:
        linear = MaxNLocator(_LINEAR_BINS, steps=[1, 2, 5, 10], min_n_ticks=_FEWEST_TICKS).tick_values(low, high)
        # Without the last digits, which come of adding up steps.
        kept = [tick for tick in (float(f"{tick:.10g}") for tick in linear) if low <= tick <= high]
    return kept


def _short(number: float) -> str:
    """A number beside an axis, with as few characters as it takes: 0.05, 1000, 1e5, 2.5e-7."""
    if 1e-3 <= number < 1e4:
        return f"{number:.10g}"
    digits, exponent = f"{number:.9e}".split("e")
    return f"{float(digits):.10g}e{int(exponent)}"
