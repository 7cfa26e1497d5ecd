"""The sheet that the panels of a figure are drawn on, with what several figures draw alike."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lipgnn.report.figures.panel import Panel
from lipgnn.report.figures.spread import Spread
from lipgnn.report.figures.style import HEIGHT, WIDTH, axis_words

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure as Sheet
    from matplotlib.text import Text

# The kinds of files that can be written.
SUFFIXES = ("png", "svg", "pdf")
ACROSS = 3
DEVIATION = "± one sample standard deviation"
# Letters of the legend that go into an inch, those that line and space of an entry take, and the height of a line.
_LETTERS, _ENTRY, _LINE = 14, 9, 0.17
# So many series need more room, and panels so much higher.
_MANY, _HIGHER = 6, 1.35
# Panels have one vertical axis where each of them fills at least this share of it.
_LEAST = 0.15


class Canvas:
    """A sheet with a place for every panel, at most ACROSS beside each other, each with its title.

    Attributes
    ----------
    sheet : matplotlib's figure.
    places : the axes of every panel.
    labels : of all series, each once; their order decides how they look.
    value : the name of what is drawn.
    spread : draws deviations and diverged runs, and knows what of them the legend must explain.
    """

    def __init__(self, panels: Sequence[Panel], value: str, metrics: Collection[str], *, same_height: bool | None):
        from matplotlib.figure import Figure as Sheet

        down = math.ceil(len(panels) / ACROSS)
        self._across = math.ceil(len(panels) / down)
        self._metrics = metrics
        self.value = value
        self.labels = list(dict.fromkeys(series.label for panel in panels for series in panel.series))
        self.fields = panels[0].fields
        height = HEIGHT * (_HIGHER if self.fields and len(self.labels) > _MANY else 1)
        self.sheet = Sheet(figsize=(WIDTH * self._across, height * down), layout="constrained")
        places = list(self.sheet.subplots(down, self._across, squeeze=False, sharey=bool(same_height)).flat)
        self.places, spare = places[: len(panels)], places[len(panels) :]
        for axes in spare:
            axes.remove()
        for axes, panel in zip(self.places, panels, strict=True):
            axes.set_title(panel.title, fontsize="medium")
        self._side: Text | None = None
        self.spread = Spread(self.sheet, len(self.labels), sum(panel.left_out for panel in panels))

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
        deviation: str = DEVIATION,
        *,
        beside: bool = False,
    ) -> None:
        """Draw every series as a line of means with their deviations.

        Parameters
        ----------
        along : what lies along the horizontal axis.
        shown : the number on the axis for a number of a point.
        deviation : what the legend calls the deviations.
        beside : whether many lines may stand a little beside each other, where a reader knows the exact places.
        """
        for axes, panel in zip(self.places, panels, strict=True):
            axes.set_xlabel(along)
            for place, (points, style) in enumerate(self.series(panel, looks)):
                aside = (place - (len(panel.series) - 1) / 2) / len(panel.series) if beside else 0
                self.spread.draw(axes, points, shown, style, deviation, aside=aside)
            self.spread.mark_diverged(axes, [(points, style) for points, style in self.series(panel, looks)])

    def name_side(self, text: str) -> None:
        """What all panels have along their vertical axes."""
        self._side = self.sheet.supylabel(text, fontsize="medium", multialignment="center")

    def share_heights(self) -> None:
        """Give all panels one vertical axis, so that they can be compared, where each still fills enough of it."""
        if len(self._metrics) > 1:
            return
        logarithmic = self.places[0].get_yscale() == "log"
        limits = [axes.get_ylim() for axes in self.places]
        measure = math.log10 if logarithmic else float
        low, high = min(low for low, _ in limits), max(high for _, high in limits)
        if all(measure(b) - measure(a) >= _LEAST * (measure(high) - measure(low)) for a, b in limits):
            for number, axes in enumerate(self.places):
                axes.set_ylim(low, high)
                axes.tick_params(labelleft=number % self._across == 0)

    def legend(self, looks: Callable[[int], dict[str, Any]], further: Sequence[Artist] = ()) -> None:
        """Name the series below all panels, under the names of their fields, and explain whatever else is drawn."""
        from matplotlib.lines import Line2D

        handles = [Line2D([], [], label=label, **looks(index)) for index, label in enumerate(self.labels)]
        # Labels of numbers have the name of their field already.
        named = all(f"{name} " in label for name in self.fields for label in self.labels)
        title = "" if named else ", ".join(self.fields)
        self._below([*handles, *further, *self.spread.explanations()], title)

    def explain(self) -> None:
        """The same where the series are named elsewhere."""
        if handles := self.spread.explanations():
            self._below(handles, "")

    def _below(self, handles: Sequence[Artist], title: str) -> None:
        letters = max(len(handle.get_label()) for handle in handles) + _ENTRY
        columns = min(max(int(WIDTH * self._across * _LETTERS / letters), 1), len(handles))
        # Further lines are not to be taken from the panels.
        lines = math.ceil(len(handles) / columns) + bool(title)
        self.sheet.set_figheight(self.sheet.get_figheight() + _LINE * (lines - 1))
        if self._side is not None:
            # In the middle of the panels, not of the sheet.
            self._side.set_y(0.5 + _LINE * (lines + 1) / 2 / self.sheet.get_figheight())
        named = {"title": title, "title_fontsize": "medium"} if title else {}
        self.sheet.legend(handles=handles, loc="outside lower center", ncols=columns, handlelength=3, **named)

    def content(self, suffix: str) -> bytes:
        """The file."""
        return content_of(self.sheet, suffix)


def content_of(sheet: Sheet, suffix: str) -> bytes:
    """The content of a file of one of SUFFIXES, without the date."""
    content = io.BytesIO()
    undated = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None}}
    sheet.savefig(content, format=suffix, dpi=200, metadata=undated.get(suffix))
    return content.getvalue()
