import pytest

from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout
from lipgnn.report.view.set_up import common_set_up, set_up_of


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ([], ""),
        ([(8, 8, 200), (8, 8, 200)], "8 × 8, 200 epochs"),
        ([(4, 64, 1000), (4, 64, 2500)], "4 × 64, 1000–2500 epochs"),
        ([(8, 8, 200), (4, 64, 200)], "4 × 64 or 8 × 8, 200 epochs"),
    ],
)
def test_it_names_heads_width_and_epochs(runs, text):
    assert set_up_of([dict(zip(("heads", "hidden", "epochs"), run, strict=True)) for run in runs]) == text


def test_a_table_has_one_set_up_or_several(result_row):
    layout = Layout(rows=("norm",), cols=())
    rows = [result_row(norm=norm, seed=seed, epochs=200) for norm in ("none", "lip") for seed in (0, 1)]
    assert common_set_up(build_table(rows, layout)) == set_up_of(rows)
    longer = [{**row, "epochs": 400 if row["norm"] == "lip" else 200} for row in rows]
    assert common_set_up(build_table(longer, layout)) is None
