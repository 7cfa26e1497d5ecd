import pytest

from lipgnn.report.table.beside import add_published, complete_published
from lipgnn.report.table.cells import build_table, sort_rows
from lipgnn.report.table.layout import Layout
from lipgnn.report.table.papers import PaperNumber, read_papers
from lipgnn.report.view.formats import csv_table, markdown
from lipgnn.report.view.printed import as_printed

MISSING = Layout(rows=("model", "norm"), cols=("dataset", "missing"), best=("layers",))
TREES = Layout(rows=("model", "norm", "kappa"), cols=("dataset", "layers"), value="train_score")


def test_published_numbers_stand_beside_cells_of_the_same_kind(result_row):
    runs = [result_row(norm=norm, layers=layers) for norm in ("none", "lip") for layers in (2, 4)]
    entry = PaperNumber("A 2021", "1", "cora", 0.0, "gat", "lip", "test_score", 0.8, 0.01, 4, "book")
    fixed = add_published(build_table(runs, Layout(("norm",), ("layers",))), [entry])
    assert {place for place, cell in fixed.cells.items() if cell.published} == {(("lip",), (4,))}
    chosen = add_published(build_table(runs, Layout(("norm",), ("dataset",), best=("layers",))), [entry])
    assert chosen.cells[("lip",), ("cora",)].published is entry
    other = [run | {"metric": "roc-auc"} for run in runs]
    assert not any(c.published for c in add_published(build_table(other, fixed.layout), [entry]).cells.values())


def whole(runs, layout):
    return complete_published(add_published(build_table(runs, layout), read_papers()), read_papers())


def test_one_cell_of_ours_brings_the_whole_published_table(result_row):
    """Five rows and six columns of the slide, one number of ours in them, and 30 of theirs."""
    table = whole([result_row(norm="lip", test_score=0.5)], MISSING)
    assert (len(table.row_keys), len(table.col_keys)) == (5, 6)
    assert sum(cell.mean is not None for cell in table.cells.values()) == 1
    assert {cell.published for cell in table.cells.values()} == {e for e in read_papers() if "Dasoulas" in e.paper}
    printed = as_printed(table)
    assert dict(printed.rows)["gat", "lip"][0].text == "50.0 (10)"
    assert dict(printed.rows)["gcn", "none"][-1].text == "44.9 ± 4.4 (2)"
    assert dict(printed.rows)["gcn", "none"][-2].text == "–"
    assert "n = 1" in printed.caption


def test_every_format_takes_empty_cells(result_row):
    table = sort_rows(whole([result_row(norm="lip", test_score=0.5)], MISSING), "value")
    assert "44.9 ± 4.4 (2)" in markdown(as_printed(table))
    assert len(csv_table(table).splitlines()) == 31


def test_what_the_table_does_not_name_must_be_the_same(result_row):
    """Rows by norm of GAT alone: the numbers of GCN have no place among them."""
    table = whole(
        [result_row(norm=norm) for norm in ("none", "lip")], Layout(("norm",), ("dataset",), best=("layers",))
    )
    assert {(cell.published.model, cell.published.missing) for cell in table.cells.values()} == {("gat", 0.0)}
    assert table.row_keys == (("none",), ("lip",), ("pair",))


def test_fewer_trees_stand_in_the_column_of_all(result_row):
    runs = [
        result_row(dataset=dataset, model=model, norm="layer", layers=layers)
        for model, dataset, layers in (("gat", "trees:4", 5), ("gat", "trees:5:250", 6), ("gcn", "trees:4", 5))
    ]
    table = whole(runs, TREES)
    columns = [dataset for dataset, _ in table.col_keys]
    assert sorted(columns) == ["trees:2", "trees:3", "trees:4", "trees:5:250", "trees:6", "trees:7", "trees:8"]
    assert table.cells[("gcn", "layer", 4.0), ("trees:5:250", 6)].published.mean == 0.19
    assert table.cells[("gat", "layer", 4.0), ("trees:8", 9)].published.mean == 0.11


def test_numbers_of_one_residual_connection_stand_in_its_rows(result_row):
    layout = Layout(("model", "residual", "weight_norm"), ("dataset", "layers"))
    runs = [
        result_row(model="gcn", norm="none", residual=residual, layers=64, dataset="cora")
        for residual in ("identity", "initial")
    ]
    table = whole(runs, layout)
    assert table.cells[("gcn", "identity", "none"), ("cora", 64)].published is None
    shown = {col: cell.published.mean for (row, col), cell in table.cells.items() if row == ("gcn", "initial", "none")}
    assert shown == {("cora", 64): 0.855, ("citeseer", 32): 0.734, ("pubmed", 16): 0.803}


@pytest.mark.parametrize("value", ["val_score", "seconds"])
def test_where_nothing_was_published_nothing_is_added(result_row, value):
    table = build_table([result_row(norm="lip")], Layout(("norm",), ("dataset",), value=value))
    completed = complete_published(add_published(table, read_papers()), read_papers())
    assert completed.cells.keys() == table.cells.keys()
