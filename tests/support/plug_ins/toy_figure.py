"""A figure: every cell of the table as a dot at its mean."""

from lipgnn.report.figures.figure import Figure
from lipgnn.report.figures.panel import Panel, Point, Series


class Dots(Figure):
    """One panel, one series, a dot for every cell."""

    def panels(self, table, results, value):
        points = [Point(place, cell.mean, n=cell.n) for place, cell in enumerate(table.cells.values())]
        return [Panel("all cells", [Series("cells", points)])]

    def draw(self, canvas, panels):
        for axes, panel in zip(canvas.places, panels, strict=True):
            for series in panel.series:
                axes.plot([point.x for point in series.points], [point.y for point in series.points], "o")
