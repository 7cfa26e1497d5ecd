import pytest

from lipgnn.errors import UsageError
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.joined import check_one_experiment, further_differences
from lipgnn.report.table.layout import Layout

BY_NORM = Layout(rows=("norm",), cols=("layers",))


def table(result_row, *runs, layout=BY_NORM):
    return build_table([result_row(**run) for run in runs], layout)


@pytest.mark.parametrize(
    ("field", "values", "shown"),
    [
        ("dataset", ("cora", "planted"), "dataset (cora, planted)"),
        ("epochs", (5, 200), "epochs (5, 200)"),
        ("split", ("public", "random:0"), "split (public, random:0)"),
        ("missing", (0.0, 0.5), "missing (0, 0.5)"),
    ],
)
def test_numbers_of_different_experiments_do_not_stand_side_by_side(result_row, field, values, shown):
    runs = [{"layers": layers, field: value} for layers, value in zip((2, 8), values, strict=True)]
    with pytest.raises(UsageError) as caught:
        check_one_experiment(table(result_row, *runs))
    assert shown in caught.value.message
    assert f"--where {field}={values[0]}" in caught.value.hint and "--sweep last" in caught.value.hint
    named = Layout(rows=("norm",), cols=("layers", field))
    check_one_experiment(table(result_row, *runs, layout=named))


def test_what_follows_from_the_data_that_is_named_is_of_one_experiment(result_row):
    runs = [{"dataset": "cora", "epochs": 200}, {"dataset": "planted", "epochs": 5, "split": "random:0"}]
    check_one_experiment(table(result_row, *runs, layout=Layout(rows=("norm",), cols=("dataset",))))
    # The other data set alone is named as what differs: its epochs follow from it.
    with pytest.raises(UsageError) as caught:
        check_one_experiment(table(result_row, *({**run, "layers": n} for n, run in enumerate(runs, start=1))))
    assert "dataset (cora, planted)" in caught.value.message and "epochs" not in caught.value.message


def test_one_data_set_with_other_epochs_in_one_row_is_refused(result_row):
    runs = [{"dataset": "cora", "norm": "none", "epochs": 5}, {"dataset": "cora", "norm": "lip", "epochs": 200}]
    with pytest.raises(UsageError, match="epochs"):
        check_one_experiment(table(result_row, *runs, layout=Layout(rows=("norm",), cols=("dataset",))))


def test_other_options_that_differ_are_told_by_column_by_row_or_by_value(result_row):
    by_column = table(result_row, {"layers": 2, "lr": 0.5}, {"layers": 4, "lr": 0.5}, {"layers": 8, "lr": 0.25})
    assert further_differences(by_column) == ["lr (0.5 at 2, 4; 0.25 at 8)"]
    by_row = table(
        result_row,
        *({"norm": norm, "layers": n, "hidden": hidden} for n in (2, 4) for norm, hidden in (("none", 8), ("lip", 16))),
    )
    assert further_differences(by_row) == ["hidden (8 at none; 16 at lip)"]
    by_cell = table(
        result_row,
        *(
            {"norm": norm, "layers": n, "hidden": n if norm == "lip" else 64}
            for n in (2, 4)
            for norm in ("none", "lip")
        ),
    )
    assert further_differences(by_cell) == ["hidden (2, 4, 64)"]
    assert further_differences(table(result_row, {"layers": 2}, {"layers": 4})) == []
