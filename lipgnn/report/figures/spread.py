"""How far runs lie apart: deviations around a line, and what became of runs that diverged."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lipgnn.report.figures.panel import Point

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Sheet

# So many shades can be told apart where they lie over each other; more series have bars.
SHADES = 4
# Bars stand at so many places at most, and all lines within so many points of print beside each other.
_PLACES, _ASIDE = 12, 10
_GREY = "#666666"
_HOLLOW = {"linestyle": "none", "markerfacecolor": "white"}
# The share of the height at which the first cross stands, and that from one to the next.
_LOWEST, _STEP = 0.03, 0.055


class Spread:
    """Draws what is around means, and explains what was drawn.

    Parameters
    ----------
    series : how many lines the sheet has.
    left_out : how many runs are not drawn because they diverged.
    """

    def __init__(self, sheet: Sheet, series: int, left_out: int = 0):
        self._sheet, self._series, self._left_out = sheet, series, left_out
        self._shaded: set[str] = set()
        self._barred: set[str] = set()
        self._crossed = self._open = False

    def draw(
        self,
        axes: Axes,
        points: Sequence[Point],
        shown: Callable[[float], float],
        style: dict[str, Any],
        deviation: str,
        *,
        aside: float,
    ) -> None:
        """Draw a line of means, in a shade of their deviations; of many series in bars, a little beside each other.

        A mean that is alone has a bar as well.

        Where there are many series of many points, a line has neither: no reader could tell whose they are. The marker
        of a mean without runs that diverged is open. `deviation` is what the legend calls the deviations.

        Parameters
        ----------
        aside : how far to the right of its place, from -0.5 to 0.5 of what there is for that.
        """
        from matplotlib.transforms import ScaledTranslation

        xs, ys = [point.x for point in points], [shown(point.y) for point in points]
        low = [shown(point.y - (point.std or 0)) for point in points]
        high = [shown(point.y + (point.std or 0)) for point in points]
        deviates = any(point.std for point in points)
        barred = self._has_bars(ys)
        place = axes.transData
        if barred:
            place = place + ScaledTranslation(aside * _ASIDE / 72, 0, self._sheet.dpi_scale_trans)
        axes.plot(xs, ys, transform=place, **style)
        if barred:
            _make_room(axes, [*xs, *xs], [*low, *high])
        if deviates and barred:
            axes.vlines(xs, low, high, color=style["color"], linewidth=0.8, alpha=0.7, transform=place)
            self._barred.add(deviation)
        elif deviates and self._series <= SHADES:
            axes.fill_between(xs, low, high, color=style["color"], alpha=0.18, linewidth=0)
            self._shaded.add(deviation)
        some = [(x, y) for x, y, point in zip(xs, ys, points, strict=True) if point.diverged and not math.isnan(y)]
        if some and style.get("marker"):
            axes.plot(*zip(*some, strict=True), transform=place, **(style | _HOLLOW))
            self._open = True

    def _has_bars(self, ys: Sequence[float]) -> bool:
        """Whether a line has bars: of many lines of few places each has, and a mean that is alone, as its shade would
        have no width.
        """
        return sum(map(math.isfinite, ys)) == 1 or (self._series > SHADES and len(ys) <= _PLACES)

    def mark_diverged(self, axes: Axes, drawn: Sequence[tuple[Sequence[Point], dict[str, Any]]]) -> None:
        """A cross at the foot of a panel for every mean that there is not, because all of its runs diverged."""
        from matplotlib.transforms import blended_transform_factory

        foot = blended_transform_factory(axes.transData, axes.transAxes)
        crosses: dict[Any, int] = {}
        for points, style in drawn:
            for point in points:
                if math.isnan(point.y):
                    height = _LOWEST + _STEP * crosses.get(point.x, 0)
                    crosses[point.x] = crosses.get(point.x, 0) + 1
                    axes.plot(point.x, height, marker="x", color=style["color"], transform=foot, clip_on=False)
                    self._crossed = True

    def explanations(self) -> list[Artist]:
        """What a legend says of all that was drawn."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        found: list[Artist] = [Patch(color=_GREY, alpha=0.3, label=text) for text in sorted(self._shaded)]
        bar = {"color": _GREY, "linestyle": "none", "marker": "|", "markersize": 9}
        found += [Line2D([], [], label=text, **bar) for text in sorted(self._barred)]
        if self._open:
            found.append(
                Line2D([], [], label="some runs diverged", color=_GREY, linestyle="none", marker="o", mfc="white")
            )
        if self._crossed:
            found.append(Line2D([], [], label="all runs diverged", color=_GREY, linestyle="none", marker="x"))
        if self._left_out:
            words = "1 diverged run is" if self._left_out == 1 else f"{self._left_out} diverged runs are"
            found.append(Line2D([], [], label=f"{words} not drawn", linestyle="none"))
        return found


def _make_room(axes: Axes, xs: Sequence[float], ys: Sequence[float]) -> None:
    """Let limits be around what is moved, which does not count for them by itself."""
    axes.update_datalim([(x, y) for x, y in zip(xs, ys, strict=True) if math.isfinite(y)])
    axes.autoscale_view()
