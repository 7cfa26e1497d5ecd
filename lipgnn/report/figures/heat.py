"""The figure `heat`: a recorded number by epoch and layer, as shades."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from lipgnn.report.figures.canvas import Canvas
from lipgnn.report.figures.figure import Figure
from lipgnn.report.figures.panel import Panel, Point, Series, drawable, means_by_epoch, titles
from lipgnn.report.figures.style import use_whole_numbers
from lipgnn.report.recorded import first_layer, first_recorded, logarithms_of
from lipgnn.report.table.cells import Cell, Table
from lipgnn.results.rows import Results

if TYPE_CHECKING:
    import numpy as np


class Heat(Figure):
    """A panel for every cell of the table, in it a series for every layer.

    Every point is a mean of log10 over runs, with its deviation. Where a number of a run is zero or not finite there
    is no point.
    """

    needs = "gradients"
    same_height = False

    def default_value(self, records: Sequence[str]) -> str:
        return first_recorded(records, self.needs)

    def panels(self, table: Table, results: Results, value: str) -> list[Panel]:
        names = (*table.layout.rows, *table.layout.cols)
        places = [(row, col) for col in table.col_keys for row in table.row_keys if (row, col) in table.cells]
        named = titles(names, [(*row, *col) for row, col in places])
        return drawable(
            [Panel(named[(*row, *col)], _layers(table.cells[row, col], results, value)) for row, col in places]
        )

    def draw(self, canvas: Canvas, panels: Sequence[Panel]) -> None:
        """Epochs to the right, layers upwards, one scale of colours for all panels; grey where there is no number."""
        from matplotlib import colormaps
        from matplotlib.colors import Normalize

        numbers = [point.y for panel in panels for series in panel.series for point in series.points]
        shades = Normalize(min(numbers), max(numbers))
        colours = colormaps["viridis"].with_extremes(bad="#dddddd")
        for axes, panel in zip(canvas.places, panels, strict=True):
            grid, epochs = _grid(panel)
            below = int(panel.series[0].label) - 0.5
            extent = (epochs.start - epochs.step / 2, epochs.stop - epochs.step / 2, below, below + len(grid))
            image = axes.imshow(
                grid, cmap=colours, norm=shades, extent=extent, origin="lower", aspect="auto", interpolation="nearest"
            )
            axes.grid(visible=False)
            use_whole_numbers(axes, "xy")
            axes.set_xlabel("epoch")
        canvas.name_side("layer")
        canvas.sheet.colorbar(image, ax=canvas.places, label=f"log10 {canvas.axis()}")

    def row(self, panel: Panel, series: Series, point: Point) -> dict[str, Any]:
        return {"layer": series.label, "epoch": point.x, "log10": point.y, "std": point.std}


def _layers(cell: Cell, results: Results, value: str) -> list[Series]:
    """A series for every layer, called by its number; see `first_layer`."""
    found: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for _, epochs, logarithms in logarithms_of(cell, results, value):
        for epoch, of_layers in zip(epochs, logarithms.tolist(), strict=True):
            for layer, logarithm in enumerate(of_layers, start=first_layer(value)):
                found[layer][epoch].append(logarithm)
    return [Series(str(layer), means_by_epoch(by_epoch)) for layer, by_epoch in sorted(found.items())]


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
