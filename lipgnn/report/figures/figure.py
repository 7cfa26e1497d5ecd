"""What a figure is: where its numbers come from, how they are drawn, and how they are written as rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from lipgnn.report.figures.canvas import Canvas, content_of
from lipgnn.report.figures.panel import Panel, Point, Series
from lipgnn.report.figures.style import in_print
from lipgnn.report.table.cells import Table
from lipgnn.results.rows import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Sheet


class Figure(Protocol):
    """One kind of figure: a class in a file of its own, found by name in FIGURES (see `lipgnn.report.figures`).

    What a class does not say is as it stands here.

    Attributes
    ----------
    needs : what runs must have recorded for it, one of RECORDS (see `lipgnn.results.recordings`); None where their
        results and logs are enough.
    same_height : whether all panels have one vertical axis; None where they have it if each fills enough of it.
    captions : what a page (--html) shows of it: values, None being that of the table, each with a sentence below.
    """

    needs: str | None = None
    same_height: bool | None = None
    captions: Sequence[tuple[str | None, str]] = ()

    def default_value(self, records: Sequence[str]) -> str | None:
        """The recorded array that is drawn where no value is asked for; None where it is the number of the table.

        Parameters
        ----------
        records : what the runs record, as far as their study says it.
        """
        return None

    def panels(self, table: Table, results: Results, value: str) -> list[Panel]:
        """The data.

        Parameters
        ----------
        value : what is drawn: the table's own value, or the name of a recorded array.

        Raises
        ------
        UsageError : table or runs lack what the figure shows.
        """
        ...

    def draw(self, canvas: Canvas, panels: Sequence[Panel]) -> None:
        """Draw every panel at its place on the canvas, and what stands beside and below them all."""
        ...

    def row(self, panel: Panel, series: Series, point: Point) -> dict[str, Any]:
        """A point as a row of numbers (--figure-data), without the title of its panel and the number of its runs."""
        return {"series": series.label, "x": point.x, "y": point.y, "std": point.std}


def draw(figure: Figure, panels: Sequence[Panel], value: str, suffix: str, metrics: Collection[str] = ()) -> bytes:
    """Draw the panels of a figure.

    Parameters
    ----------
    value : the name of what is drawn.
    suffix : one of SUFFIXES.
    metrics : what scores are, where any are drawn.

    Returns
    -------
    the content of the file; the same data gives the same bytes.
    """
    with in_print(type(figure).__name__.lower()):
        return content_of(sheet_of(figure, panels, value, metrics), suffix)


def sheet_of(figure: Figure, panels: Sequence[Panel], value: str, metrics: Collection[str] = ()) -> Sheet:
    """The same as an object of matplotlib."""
    with in_print(type(figure).__name__.lower()):
        canvas = Canvas(panels, value, metrics, same_height=figure.same_height)
        figure.draw(canvas, panels)
        if figure.same_height is None:
            canvas.share_heights()
        return canvas.sheet


def rows_of(figure: Figure, panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """Every point of a figure as a row."""
    return [
        {"panel": panel.title, **figure.row(panel, series, point), "n": point.n}
        for panel in panels
        for series in panel.series
        for point in series.points
    ]
