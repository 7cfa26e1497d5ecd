from dataclasses import replace

import pytest

from lipgnn.report.table.beside import add_published
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout
from lipgnn.report.table.papers import read_papers
from lipgnn.report.table.statistics import Difference
from lipgnn.report.view.printed import as_printed, difference_text, mean_and_std, number, plain


def entries(printed):
    return [[(entry.text, entry.mark, entry.remark) for entry in row] for _, row in printed.rows]


def test_a_table_is_printed_as_papers_do(table):
    printed = as_printed(table)
    assert printed.row_fields == ("norm",)
    assert printed.headers == [[("cora", 1), ("citeseer", 1)]]
    assert [labels for labels, _ in printed.rows] == [("none",), ("lip",), ("pair",)]
    assert entries(printed) == [
        [("72.0 ± 2.0", "underline", ""), ("62.0 ± 2.0", None, "")],
        [("76.0 ± 1.0", "bold", ""), ("diverged (3)", None, "")],
        [("50.0", None, ", n = 1, 2 diverged"), ("–", None, "")],
    ]
    assert printed.caption == (
        "test accuracy in %; mean ± sample standard deviation over seed 0–2; n = 3 unless stated."
    )
    assert printed.notes == ["5 diverged runs are excluded from the means."]


def test_published_numbers_and_differences_have_their_own_columns(full_table):
    printed = as_printed(full_table)
    # Nothing is published of the second, which has no empty column for it.
    assert printed.headers[0] == [("cora", 3), ("citeseer", 2)]
    kinds = ["ours", "published", "against none", "ours", "against none"]
    assert printed.headers[1] == [(kind, 1) for kind in kinds]
    assert [entry.text for entry in printed.rows[1][1]][:3] == [
        "76.0 ± 1.0",
        "75.3 ± 0.9",
        # Differences .05 .04 .03: mean .04, deviation .01, so ± 4.303 × .01 / √3.
        "+4.0 (+1.5 to +6.5), p = 0.02, n = 3",
    ]
    assert printed.rows[2][1][2].text == "−20.0, n = 1"
    assert "Published: A & B 2021, table_1; book." in printed.notes
    assert any("95% confidence interval" in note for note in printed.notes)


def test_the_chosen_depth_is_printed_after_the_number(result_row):
    runs = [result_row(layers=layers, test_score=layers / 20, seed=seed) for layers in (5, 11) for seed in (0, 1)]
    printed = as_printed(build_table(runs, Layout(rows=("norm",), cols=(), best=("layers",))))
    assert entries(printed) == [[("55.0 ± 0.0 (11)", None, "")]]
    assert printed.headers == [[("test accuracy", 1)]]
    assert "layers, chosen by mean validation accuracy" in printed.caption


def marks(result_row, numbers, **options):
    value = options.pop("value", "test_score")
    runs = [result_row(layers=index + 1, **{value: number}) for index, number in enumerate(numbers)]
    printed = as_printed(build_table(runs, Layout(rows=("layers",), cols=(), value=value)), **options)
    return "".join({"bold": "b", "underline": "u", None: "."}[row[0].mark] for _, row in printed.rows)


def test_marks_go_by_the_printed_value_and_ties_share_them(result_row):
    # 75.34 and 75.32 are both printed as 75.3.
    assert marks(result_row, [0.7534, 0.7532, 0.71, 0.70, 0.7104]) == "bbu.u"
    assert marks(result_row, [0.7532, 0.7532]) == ".."
    assert marks(result_row, [0.7]) == "."
    assert marks(result_row, [0.3, 0.2, 0.1], bold="second", underline="none") == ".b."
    assert marks(result_row, [0.3, 0.2, 0.1], bold="none", underline="best") == "u.."
    assert marks(result_row, [0.3, 0.2, 0.1], value="val_loss") == ".ub"


def test_unequal_numbers_of_runs_are_flagged(table):
    cells = {place: cell for place, cell in table.cells.items() if cell.n == 3}
    assert "unless" not in as_printed(replace(table, cells=cells)).caption
    assert "n = 3 unless stated" in as_printed(table).caption


@pytest.mark.parametrize(
    "name, value, text",
    [
        ("test_score", 0.7534, "75.3"),
        ("test_score", 1.0, "100.0"),
        ("val_loss", 0.75, "0.7500"),
        ("val_loss", 0.00123456, "0.001235"),
        ("seconds", 318.13, "318.1"),
        ("parameters", 220871, "220871"),
        ("max_grad_norm", 3113114.86, "3.11e+06"),
        ("val_loss", 2e-7, "2e-07"),
        ("val_loss", 0.0, "0"),
    ],
)
def test_numbers_have_sensible_digits(name, value, text):
    assert number(name, value) == text


def test_a_deviation_has_the_decimals_of_its_mean():
    assert mean_and_std("seconds", 318.13, 2.345) == "318.1 ± 2.3"
    assert mean_and_std("val_loss", 1.2345, 0.01) == "1.234 ± 0.010"
    assert mean_and_std("test_score", 0.5, None) == "50.0"


def test_a_difference_says_only_what_is_known():
    assert difference_text("test_score", Difference(0.02, None, None, None, 1)) == "+2.0, n = 1"
    assert (
        difference_text("test_score", Difference(-0.02, -0.03, -0.01, 1e-5, 5))
        == "−2.0 (−3.0 to −1.0), p < 0.001, n = 5"
    )


def test_text_from_outside_stays_on_its_line_and_steers_nothing():
    assert plain("a\x1b[31m\nb\x00") == r"a\x1b[31m\nb\x00"
    assert plain(0.30) == "0.3"


def test_fewer_trees_than_published_are_said_to_be(result_row):
    runs = [
        result_row(dataset=dataset, norm="layer", layers=layers, train_score=0.5)
        for dataset, layers in (("trees:4", 5), ("trees:5:250", 6))
    ]
    layout = Layout(rows=("norm",), cols=("dataset", "layers"), value="train_score")
    printed = as_printed(add_published(build_table(runs, layout), read_papers()))
    assert [entry.text for entry in printed.rows[0][1]] == ["50.0", "100.0", "50.0", "41.0"]
    assert "Scaled down from the published data set: trees:5:250." in printed.notes


def test_what_was_chosen_along_with_the_depth_is_said(result_row):
    runs = [result_row(layers=layers, epochs=100 * layers) for layers in (2, 4)]
    printed = as_printed(build_table(runs, Layout(rows=("norm",), cols=(), best=("layers",))))
    assert "in parentheses layers, each with its own epochs, chosen by mean validation accuracy" in printed.caption


def test_a_mean_of_those_alone_that_came_to_it_is_said_and_never_marked(result_row):
    """Better at a glance, because the slow ones are missing."""
    epochs = {"none": (20, 30, 40), "lip": (10, None, 20), "pair": (None, None, None), "layer": (50, 60, 70)}
    runs = [
        result_row(norm=norm, seed=seed, epochs_to_90=value)
        for norm, values in epochs.items()
        for seed, value in enumerate(values)
    ]
    table = build_table(runs, Layout(rows=("norm",), cols=("dataset",), value="epochs_to_90"))
    printed = as_printed(table)
    shown = {labels[0]: entry for labels, (entry,) in printed.rows}
    assert {norm: (entry.text, entry.mark, entry.remark) for norm, entry in shown.items()} == {
        "none": ("30.00 ± 10.00", "bold", ""),
        "lip": ("15.00 ± 7.07", None, ", n = 2, 1 never"),
        "pair": ("never (3)", None, ""),
        "layer": ("60.00 ± 10.00", "underline", ""),
    }
    assert printed.notes == ["4 runs are excluded from the means for never having reached it."]


@pytest.fixture
def two_metrics(result_row):
    """Two norms on a set with an accuracy of 0.7 and 0.8 and on one with a ROC-AUC of 0.8 and 0.9."""
    return [
        result_row(
            dataset=dataset, metric=metric, fingerprint=dataset, norm=norm, test_score=score + (norm == "lip") / 10
        )
        for dataset, metric, score in (("cora", "accuracy", 0.7), ("proteins", "roc-auc", 0.8))
        for norm in ("none", "lip")
    ]


def test_columns_of_several_metrics_say_which_each_is(two_metrics):
    printed = as_printed(build_table(two_metrics, Layout(rows=("norm",), cols=("dataset",))))
    assert printed.headers == [[("cora", 1), ("proteins", 1)], [("accuracy", 1), ("ROC-AUC", 1)]]
    assert entries(printed) == [
        [("70.0", "underline", ""), ("80.0", "underline", "")],
        [("80.0", "bold", ""), ("90.0", "bold", "")],
    ]
    assert printed.caption == "test score in %; n = 1."


def test_one_metric_stands_in_the_caption_alone(two_metrics):
    auc = [run for run in two_metrics if run["metric"] == "roc-auc"]
    printed = as_printed(build_table(auc, Layout(rows=("norm",), cols=("dataset",), best=("layers",))))
    assert printed.headers == [[("proteins", 1)]]
    assert printed.caption.startswith("test ROC-AUC in %;")
    assert "chosen by mean validation ROC-AUC" in printed.caption


def test_numbers_of_several_metrics_in_one_column_say_which_and_have_no_rank(two_metrics):
    """0.8 of one metric is no more than 0.7 of another."""
    printed = as_printed(build_table(two_metrics, Layout(rows=("dataset", "norm"), cols=())))
    assert entries(printed) == [
        [("70.0", None, ", accuracy")],
        [("80.0", None, ", accuracy")],
        [("80.0", None, ", ROC-AUC")],
        [("90.0", None, ", ROC-AUC")],
    ]
    assert printed.headers == [[("accuracy, ROC-AUC", 1)], [("test score", 1)]]


def test_what_is_no_score_needs_no_metric(two_metrics):
    printed = as_printed(build_table(two_metrics, Layout(rows=("norm",), cols=("dataset",), value="seconds")))
    assert printed.headers == [[("cora", 1), ("proteins", 1)]]
    assert printed.caption == "seconds; n = 1."


def test_tables_of_walks_say_how_many_steps_these_have(result_row):
    walks = {"dataset": "planar", "metric": "choice-accuracy", "choice_accuracy_deg3": 0.125, "path_nll": 1.5}
    runs = [result_row(**walks, horizon=horizon) for horizon in ("given", "shortest:1.1")]
    table = build_table(runs, Layout(rows=("horizon",), cols=("dataset",), value="choice_accuracy_deg3"))
    printed = as_printed(table)
    assert printed.caption.startswith("choice_accuracy_deg3 in %")
    assert entries(printed)[0][0][0] == "12.5"
    assert [note.partition(",")[0] for note in printed.notes] == [
        "Steps of a walk: given",
        "Steps of a walk: shortest:1.1",
    ]
    table = build_table(runs, Layout(rows=("horizon",), cols=("dataset",), value="path_nll"))
    assert entries(as_printed(table))[0][0][0] == "1.500"
    others = build_table([result_row()], Layout(rows=("norm",), cols=("dataset",)))
    assert as_printed(others).notes == []


def test_the_best_is_that_of_its_own_data(result_row):
    scores = {("cora", "none"): 0.8, ("cora", "lip"): 0.9, ("citeseer", "none"): 0.7, ("citeseer", "lip"): 0.6}
    runs = [result_row(dataset=name, norm=norm, test_score=score) for (name, norm), score in scores.items()]
    printed = as_printed(build_table(runs, Layout(rows=("dataset", "norm"), cols=("layers",))))
    marks = {labels: row[0].mark for labels, row in printed.rows}
    assert marks == {
        ("cora", "none"): "underline",
        ("cora", "lip"): "bold",
        ("citeseer", "none"): "bold",
        ("citeseer", "lip"): "underline",
    }
