"""The sheet that the panels of a figure are drawn on, with what several figures draw alike."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lipgnn.report.figures.panel import Panel
from lipgnn.report.figures.style import HEIGHT, WIDTH, axis_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Sheet
    from matplotlib.lines import Line2D

# The kinds of files that can be written.
SUFFIXES = ("png", "svg", "pdf")
ACROSS = 3
# Letters of the legend that go into an inch, those that line and space of an entry take, and the height of a line.
_LETTERS, _ENTRY, _LINE = 14, 9, 0.17


class Canvas:
    """A sheet with a place for every panel, at most ACROSS beside each other, each with its title.

    Attributes
    ----------
    sheet : matplotlib's figure.
    places : the axes of every panel.
    labels : of all series, each once; their order decides how they look.
    value : the name of what is drawn.
    """

    def __init__(self, panels: Sequence[Panel], value: str, metrics: Collection[str], *, same_height: bool):
        from matplotlib.figure import Figure as Sheet

        down = math.ceil(len(panels) / ACROSS)
        self._across = math.ceil(len(panels) / down)
        self._metrics = metrics
        self.value = value
        self.sheet = Sheet(figsize=(WIDTH * self._across, HEIGHT * down), layout="constrained")
        places = list(self.sheet.subplots(down, self._across, squeeze=False, sharey=same_height).flat)
        self.places, spare = places[: len(panels)], places[len(panels) :]
        for axes in spare:
            axes.remove()
        for axes, panel in zip(self.places, panels, strict=True):
            axes.set_title(panel.title, fontsize="medium")
        self.labels = list(dict.fromkeys(series.label for panel in panels for series in panel.series))

    def axis(self, value: str | None = None) -> str:
        """What stands beside the axis of a value, by default of the one drawn."""
        return axis_words(value or self.value, self._metrics)

    def series(self, panel: Panel, looks: Callable[[int], dict[str, Any]]) -> Iterator[tuple[list, dict[str, Any]]]:
        """The points of every series of a panel, and how the series is drawn."""
        for one in panel.series:
            yield one.points, looks(self.labels.index(one.label))

    def lines(
        self,
        panels: Sequence[Panel],
        along: str,
        shown: Callable[[float], float],
        looks: Callable[[int], dict[str, Any]],
    ) -> None:
        """Draw every series as a line of means, in a shade of one deviation to either side.

        Parameters
        ----------
        along : what lies along the horizontal axis.
        shown : the number on the axis for a number of a point.
        """
        for axes, panel in zip(self.places, panels, strict=True):
            axes.set_xlabel(along)
            for points, style in self.series(panel, looks):
                xs = [point.x for point in points]
                axes.plot(xs, [shown(point.y) for point in points], **style)
                low = [shown(point.y - (point.std or 0)) for point in points]
                high = [shown(point.y + (point.std or 0)) for point in points]
                axes.fill_between(xs, low, high, color=style["color"], alpha=0.18, linewidth=0)

    def name_side(self, text: str) -> None:
        """What all panels have along their vertical axes."""
        self.sheet.supylabel(text, fontsize="medium", multialignment="center")

    def legend(self, looks: Callable[[int], dict[str, Any]], further: Sequence[Line2D] = ()) -> None:
        """Name the series below all panels, and whatever else has a line."""
        from matplotlib.lines import Line2D

        handles = [Line2D([], [], label=label, **looks(index)) for index, label in enumerate(self.labels)]
        handles += further
        letters = max(len(handle.get_label()) for handle in handles) + _ENTRY
        columns = min(max(int(WIDTH * self._across * _LETTERS / letters), 1), len(handles))
        # Further lines are not to be taken from the panels.
        self.sheet.set_figheight(self.sheet.get_figheight() + _LINE * (math.ceil(len(handles) / columns) - 1))
        self.sheet.legend(handles=handles, loc="outside lower center", ncols=columns, handlelength=3)

    def content(self, suffix: str) -> bytes:
        """The file."""
        return content_of(self.sheet, suffix)


def content_of(sheet: Sheet, suffix: str) -> bytes:
    """The content of a file of one of SUFFIXES, without the date."""
    content = io.BytesIO()
    undated = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None}}
    sheet.savefig(content, format=suffix, dpi=200, metadata=undated.get(suffix))
    return content.getvalue()
