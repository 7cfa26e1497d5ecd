import pytest

from lipgnn.errors import UsageError
from lipgnn.report.table.layout import Layout, choose_layout, keep_where


def choose(runs, **given):
    return choose_layout(
        runs, **{"rows": None, "cols": None, "value": "test_score", "over": ["seed"], "best": [], **given}
    )


def test_rows_and_columns_are_the_usual_fields_that_vary(result_row):
    runs = [result_row(norm=norm, layers=layers) for norm in ("none", "lip") for layers in (2, 4)]
    assert (choose(runs).rows, choose(runs).cols) == (("norm",), ("layers",))
    runs.append(result_row(model="gt", dataset="pubmed", missing=1.0))
    assert (choose(runs).rows, choose(runs).cols) == (("model", "norm"), ("dataset", "missing", "layers"))
    assert choose(runs, best=["layers"]).cols == ("dataset", "missing")
    assert choose(runs, rows=["dataset"]).cols == ("missing", "layers")
    assert choose(runs, cols=["norm"]).rows == ("model",)


def test_where_nothing_varies_there_still_is_a_table(result_row):
    layout = choose([result_row()])
    assert (layout.rows, layout.cols) == (("norm",), ("dataset",))


@pytest.mark.parametrize(
    "given, message, hint",
    [
        ({"rows": ("nrom",)}, "Unknown field 'nrom'", "Did you mean 'norm'?"),
        ({"rows": ("test_score",)}, "Unknown field 'test_score'", "Valid: dataset"),
        ({"rows": ("norm",), "cols": ("norm",)}, "'norm' is used 2 times", "one of"),
        ({"best": ("seed",)}, "'seed' is used 2 times", "one of"),
        ({"value": "test_scores"}, "Unknown value 'test_scores'", "Did you mean 'test_score'?"),
        ({"value": "command"}, "Unknown value 'command'", "val_loss"),
        ({"over": ("seed", "metric")}, "different metrics have no mean", "--rows"),
        ({"best": ("metric",)}, "none is the best", "--cols"),
    ],
)
def test_what_cannot_be_laid_out_is_refused(given, message, hint):
    with pytest.raises(UsageError) as caught:
        Layout(**{"rows": ("norm",), "cols": (), **given})
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_where_keeps_runs_by_text_and_by_number(result_row):
    runs = [result_row(norm=norm, lr=lr) for norm in ("none", "lip", "lip+layer") for lr in (0.005, 0.01)]
    assert len(keep_where(runs, ["lr=5e-3"])) == 3
    assert {run["norm"] for run in keep_where(runs, ["norm=lip+layer,none"])} == {"none", "lip+layer"}
    assert len(keep_where(runs, ["norm=lip", "lr=0.01"])) == 1
    assert keep_where(runs, []) == runs


@pytest.mark.parametrize(
    "conditions, message, hint",
    [
        (["norm"], "--where takes key=value, got 'norm'", "lr=0.005"),
        (["nrom=lip"], "Unknown field 'nrom'", "'norm'"),
        (["norm=lipp"], "Unknown value of norm 'lipp'", "Did you mean 'lip'?"),
        (["lr=fast"], "Unknown value of lr 'fast'", "Valid: 0.005"),
        (["norm=lip", "seed=1"], "No run meets norm=lip and seed=1 together", "2 runs"),
    ],
)
def test_conditions_that_nothing_meets_are_refused(result_row, conditions, message, hint):
    with pytest.raises(UsageError) as caught:
        keep_where([result_row(norm="lip", seed=0), result_row(norm="none", seed=1)], conditions)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_data_set_is_meant_by_any_path_that_leads_to_it(result_row, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs = [result_row(dataset=str(tmp_path / "club.npz")), result_row(dataset="cora")]
    for text in ("club.npz", "./club.npz", str(tmp_path / "club.npz")):
        assert keep_where(runs, [f"dataset={text}"]) == runs[:1]
