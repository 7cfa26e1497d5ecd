import pytest

from lipgnn.errors import UsageError
from lipgnn.report.figures import FIGURES
from lipgnn.report.figures.figure import rows_of
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout
from lipgnn.results.rows import Results

BOX = FIGURES["box"]
LAYOUT = Layout(rows=("norm",), cols=("dataset", "layers"))
NOTHING = Results([], [], [])


def test_box_has_every_run(runs):
    panels = BOX.panels(build_table(runs, LAYOUT), NOTHING, "test_score")
    assert [panel.title for panel in panels][:2] == ["cora, layers 4", "cora, layers 30"]
    assert [(point.x, point.y) for point in panels[0].series[0].points] == [("0", 0.04), ("1", pytest.approx(0.14))]
    row = {"panel": "cora, layers 4", "series": "none", "run": "0", "y": 0.04, "std": None, "n": 1}
    assert rows_of(BOX, panels)[0] == row


def test_nothing_done_is_nothing_to_draw(runs):
    table = build_table([run | {"status": "diverged", "test_score": None} for run in runs], LAYOUT)
    with pytest.raises(UsageError, match="nothing to draw"):
        BOX.panels(table, NOTHING, "test_score")


def test_the_figure_names_its_axis_panels_and_boxes(panels, texts):
    shown = texts("box", panels(4), "test_score")
    assert {"test accuracy (%)", "panel 0", "panel 3", "none", "lip"} <= set(shown)
    assert "70" in shown and "0.7" not in shown, "scores are in percent"
