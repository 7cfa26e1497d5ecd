import random
from dataclasses import replace

import pytest

from lipgnn.catalog import METRICS, MetricEntry
from lipgnn.errors import UsageError
from lipgnn.report.table.cells import build_table, compare, sort_rows
from lipgnn.report.table.layout import Layout

BY_NORM = Layout(rows=("norm",), cols=("layers",))
BEST = Layout(rows=("norm",), cols=("dataset",), best=("layers",))


@pytest.fixture
def runs(result_row):
    """Two norms, two depths, three seeds; means .70 .60 for none and .75 .71 for lip, deviation .01 everywhere."""
    means = {("none", 2): 0.70, ("none", 4): 0.60, ("lip", 2): 0.75, ("lip", 4): 0.71}
    return [
        result_row(norm=norm, layers=layers, seed=seed, test_score=mean + 0.01 * (seed - 1))
        for (norm, layers), mean in means.items()
        for seed in range(3)
    ]


def diverge(run):
    return run | {"status": "diverged", "test_score": None, "val_score": None}


def test_cells_hold_mean_deviation_and_count(runs):
    table = build_table(random.Random(0).sample(runs, len(runs)), BY_NORM)
    assert table.row_keys == (("none",), ("lip",))
    assert table.col_keys == ((2,), (4,))
    cell = table.cells[("lip",), (4,)]
    assert (cell.mean, cell.std, cell.n) == (pytest.approx(0.71), pytest.approx(0.01), 3)
    assert (cell.diverged, cell.best, cell.spec["norm"]) == (0, {}, "lip")
    assert table.usual_n == 3


def test_one_run_has_no_deviation_and_no_run_no_cell(runs):
    table = build_table(
        [run for run in runs if run["seed"] == 0 and (run["norm"], run["layers"]) != ("lip", 4)], BY_NORM
    )
    assert table.cells[("lip",), (2,)].std is None
    assert (("lip",), (4,)) not in table.cells


def test_diverged_runs_are_counted_and_in_no_mean(runs):
    runs[0] = diverge(runs[0])
    cell = build_table(runs, BY_NORM).cells[("none",), (2,)]
    assert (cell.mean, cell.n, cell.diverged) == (pytest.approx(0.705), 2, 1)
    cell = build_table(map(diverge, runs), BY_NORM).cells[("none",), (2,)]
    assert (cell.mean, cell.std, cell.n, cell.diverged) == (None, None, 0, 3)


def test_runs_that_never_came_to_a_count_are_counted_and_in_no_mean(runs):
    layout = replace(BY_NORM, value="epochs_to_90")
    runs[0] |= {"epochs_to_90": None}
    runs[1] |= {"epochs_to_90": 30}
    runs[2] |= {"epochs_to_90": 50}
    cells = build_table(runs, layout).cells
    some = cells[("none",), (2,)]
    assert (some.mean, some.n, some.never, some.diverged) == (40, 2, 1, 0)
    assert (cells[("lip",), (2,)].n, cells[("lip",), (2,)].never) == (3, 0)
    none = build_table([run | {"epochs_to_90": None} for run in runs], layout).cells[("lip",), (2,)]
    assert (none.mean, none.std, none.n, none.never) == (None, None, 0, 3)


def test_runs_that_differ_in_something_else_are_not_averaged(runs, result_row):
    other = [run | {"lr": 0.01, "run_id": f"{index:012x}"} for index, run in enumerate(runs[:2])]
    with pytest.raises(UsageError) as caught:
        build_table([*runs, *other], BY_NORM)
    assert "lr (0.005, 0.01)" in caught.value.message
    assert "--where lr=0.005" in caught.value.hint
    assert "--rows norm,lr" in caught.value.hint
    assert len(build_table([*runs, *other], replace(BY_NORM, rows=("norm", "lr"))).cells) == 5


@pytest.mark.parametrize("field, value", [("fingerprint", "0" * 16), ("kappa", 1.0), ("select", "val_loss")])
def test_other_data_or_options_are_not_averaged(runs, field, value):
    with pytest.raises(UsageError, match=field):
        build_table([*runs, runs[0] | {field: value, "seed": 9}], BY_NORM)


def test_two_metrics_are_never_averaged(result_row):
    """Not over data sets, which bring their metric along, and not by a choice among them."""
    runs = [
        result_row(dataset=dataset, metric=metric, fingerprint=dataset, seed=seed)
        for dataset, metric in (("cora", "accuracy"), ("proteins", "roc-auc"))
        for seed in (0, 1)
    ]
    over = Layout(rows=("norm",), cols=(), over=("seed", "dataset"))
    with pytest.raises(UsageError, match=r"differ in metric \(accuracy, roc-auc\)") as caught:
        build_table(runs, over)
    assert "--where metric=accuracy" in caught.value.hint
    with pytest.raises(UsageError, match="differ in metric"):
        build_table(runs, Layout(rows=("norm",), cols=(), best=("dataset",)))
    apart = build_table(runs, replace(over, rows=("norm", "metric")))
    assert [(cell.n, cell.metric) for cell in apart.cells.values()] == [(2, "accuracy"), (2, "roc-auc")]
    beside = build_table(runs, Layout(rows=("norm",), cols=("dataset",)))
    assert beside.metrics == ("accuracy", "roc-auc")
    assert beside.metrics_by_column == {("cora",): ("accuracy",), ("proteins",): ("roc-auc",)}


def test_the_best_and_the_first_are_those_of_the_direction_of_the_metric(runs, monkeypatch):
    monkeypatch.setitem(METRICS, "error", MetricEntry("the share of wrong ones", words="error", higher_is_better=False))
    errors = [run | {"metric": "error"} for run in runs]
    assert build_table(errors, BEST).cells[("lip",), ("cora",)].best == {"layers": 4}
    assert [key[0] for key in sort_rows(build_table(errors, BY_NORM), "value").row_keys] == ["none", "lip"]


def test_rows_of_two_metrics_have_no_order_by_value(runs):
    mixed = [run | {"metric": "roc-auc" if run["norm"] == "lip" else "accuracy"} for run in runs]
    with pytest.raises(UsageError, match="different metrics have no order"):
        sort_rows(build_table(mixed, BY_NORM), "value")
    assert sort_rows(build_table(mixed, replace(BY_NORM, value="seconds")), "value").row_keys


def test_there_is_no_difference_between_two_metrics(result_row):
    runs = [
        result_row(dataset=dataset, metric=metric, fingerprint=dataset)
        for dataset, metric in (("cora", "accuracy"), ("citeseer", "accuracy"), ("proteins", "roc-auc"))
    ]
    table = compare(build_table(runs, Layout(rows=("dataset",), cols=("norm",))), "dataset=cora")
    shown = {row[0]: cell.difference and cell.difference.mean for (row, _), cell in table.cells.items()}
    assert shown == {"cora": None, "citeseer": 0, "proteins": None}


def test_device_and_version_may_differ(runs):
    table = build_table([*runs, runs[0] | {"device": "cuda:0", "version": "9.9", "seed": 9}], BY_NORM)
    assert table.cells[("none",), (2,)].n == 4


def test_splits_can_be_averaged_over_though_their_fingerprints_differ(result_row):
    runs = [result_row(split=f"random:{k}", fingerprint=f"{k:016x}", seed=s) for k in range(2) for s in range(2)]
    with pytest.raises(UsageError, match=r"differ in split \(random:0, random:1\)\."):
        build_table(runs, BY_NORM)
    (cell,) = build_table(runs, replace(BY_NORM, over=("seed", "split"))).cells.values()
    assert cell.n == 4


def test_two_runs_of_one_seed_are_not_counted_twice(runs):
    with pytest.raises(UsageError, match="two of the same options, seed 0"):
        build_table([*runs, runs[0] | {"run_id": "0" * 12}], BY_NORM)


def test_best_is_chosen_by_mean_validation_in_every_cell(runs):
    for run in runs:
        if run["norm"] == "none":
            run["val_score"] = 0.9 if run["layers"] == 4 else 0.1
    table = build_table(runs, BEST)
    none, lip = (table.cells[(norm,), ("cora",)] for norm in ("none", "lip"))
    assert (none.best, none.mean) == ({"layers": 4}, pytest.approx(0.60))
    assert (lip.best, lip.mean) == ({"layers": 2}, pytest.approx(0.75))
    assert "layers" not in lip.spec


def test_an_option_that_goes_with_the_depth_is_chosen_along_with_it(runs):
    """Epochs that grow with depth are one protocol; two numbers of epochs at one depth, or other data, are not."""
    grown = [run | {"epochs": 100 * run["layers"]} for run in runs]
    table = build_table(grown, BEST)
    assert table.following == ("epochs",)
    assert table.cells[("lip",), ("cora",)].spec["epochs"] == 200
    with pytest.raises(UsageError, match=r"differ in epochs \(200, 400, 999\)"):
        build_table([grown[0] | {"epochs": 999}, *grown[1:]], BEST)
    for field, values in (("missing", {2: 0.0, 4: 1.0}), ("fingerprint", {2: "a", 4: "b"})):
        with pytest.raises(UsageError, match=f"differ in {field}"):
            build_table([run | {field: values[run["layers"]]} for run in runs], BEST)


def test_selection_never_sees_test(runs):
    honest = {place: cell.best for place, cell in build_table(runs, BEST).cells.items()}
    for seed in range(20):
        poison = random.Random(seed)
        poisoned = [run | {"test_score": poison.random(), "last_test_score": poison.random()} for run in runs]
        assert {place: cell.best for place, cell in build_table(poisoned, BEST).cells.items()} == honest


def test_a_tie_goes_to_the_shallowest_and_diverged_depths_are_no_choice(runs):
    tied = [run | {"val_score": 0.5} for run in reversed(runs)]
    assert build_table(tied, BEST).cells[("lip",), ("cora",)].best == {"layers": 2}
    deep = [diverge(run) if run["layers"] == 2 else run for run in runs]
    assert build_table(deep, BEST).cells[("lip",), ("cora",)].best == {"layers": 4}
    none = build_table(map(diverge, runs), BEST).cells[("lip",), ("cora",)]
    assert (none.best, none.n, none.diverged) == ({}, 0, 6)


def test_rows_are_sorted_by_field_or_by_value(runs, result_row):
    runs.append(result_row(norm="pair", layers=2, test_score=0.99))
    table = build_table(runs, BY_NORM)
    assert [key[0] for key in sort_rows(table, "-norm").row_keys] == ["pair", "lip", "none"]
    # By the last column, 4 layers, where pair has no run.
    assert [key[0] for key in sort_rows(table, "value").row_keys] == ["lip", "none", "pair"]
    assert [key[0] for key in sort_rows(table, "-value").row_keys] == ["none", "lip", "pair"]
    with pytest.raises(UsageError, match="Unknown field to sort by 'nrom'"):
        sort_rows(table, "nrom")


def test_losses_are_sorted_lowest_first(runs):
    for run in runs:
        run["val_loss"] = 1.0 if run["norm"] == "lip" else 2.0
    table = sort_rows(build_table(runs, replace(BY_NORM, value="val_loss")), "value")
    assert [key[0] for key in table.row_keys] == ["lip", "none"]


def test_compare_pairs_over_the_same_seeds(runs, result_row):
    runs = [run for run in runs if (run["norm"], run["layers"], run["seed"]) != ("none", 4, 2)]
    runs.append(result_row(norm="pair", layers=8))
    table = compare(build_table(runs, BY_NORM), "none")
    assert table.cells[("lip",), (2,)].difference.mean == pytest.approx(0.05)
    assert table.cells[("lip",), (4,)].difference.n == 2
    assert table.cells[("none",), (2,)].difference is None
    assert table.cells[("pair",), (8,)].difference is None
    as_columns = compare(build_table(runs, Layout(rows=("layers",), cols=("norm",))), "none")
    assert as_columns.cells[(2,), ("lip",)].difference == table.cells[("lip",), (2,)].difference


def test_compare_needs_the_baseline_in_the_table(runs):
    with pytest.raises(UsageError, match="Unknown value of norm 'pair'"):
        compare(build_table(runs, BY_NORM), "pair")
    with pytest.raises(UsageError, match="Unknown value of layers '3'"):
        compare(build_table(runs, BY_NORM), "layers=3")
    with pytest.raises(UsageError, match="--compare none needs norm in the table, which has model, layers"):
        compare(build_table(runs[:3], Layout(rows=("model",), cols=("layers",))), "none")
    with pytest.raises(UsageError, match="--compare lr=1 needs lr in the table"):
        compare(build_table(runs, BY_NORM), "lr=1")


def test_compare_takes_any_field_of_the_table(runs):
    table = compare(build_table(runs, BY_NORM), "layers=2.0")
    assert table.baseline == "layers 2"
    pairs = zip(table.cells[("lip",), (4,)].values.values(), table.cells[("lip",), (2,)].values.values(), strict=True)
    differences = [deep - shallow for deep, shallow in pairs]
    assert table.cells[("lip",), (4,)].difference.mean == pytest.approx(sum(differences) / len(differences))
    assert table.cells[("lip",), (2,)].difference is None


def test_one_seed_that_went_well_does_not_speak_for_nine_that_diverged(result_row):
    shallow = [result_row(norm="lip", layers=2, seed=seed, test_score=0.79) for seed in range(10)]
    deep = [result_row(norm="lip", layers=64, seed=seed, test_score=0.60, val_score=0.95) for seed in range(10)]
    deep[1:] = map(diverge, deep[1:])
    cell = build_table(shallow + deep, BEST).cells[("lip",), ("cora",)]
    assert (cell.best, cell.n, cell.diverged) == ({"layers": 2}, 10, 0)


def test_a_diverged_run_counts_as_zero_and_is_no_veto(result_row):
    """Nine of ten seeds at .95 are .855 on average: more than .79, less than .86."""
    deep = [result_row(norm="lip", layers=64, seed=seed, val_score=0.95) for seed in range(10)]
    deep[0] = diverge(deep[0])
    for score, layers in ((0.79, 64), (0.86, 2)):
        shallow = [result_row(norm="lip", layers=2, seed=seed, val_score=score) for seed in range(10)]
        assert build_table(shallow + deep, BEST).cells[("lip",), ("cora",)].best == {"layers": layers}


def test_where_less_is_better_a_diverged_run_is_the_worst_too(result_row, monkeypatch):
    monkeypatch.setattr("lipgnn.report.table.cells.higher_is_better", lambda value, metric: False)
    shallow = [result_row(norm="lip", layers=2, seed=seed, val_score=0.9) for seed in range(2)]
    deep = [
        result_row(norm="lip", layers=64, seed=0, val_score=0.1),
        diverge(result_row(norm="lip", layers=64, seed=1)),
    ]
    assert build_table(shallow + deep, BEST).cells[("lip",), ("cora",)].best == {"layers": 2}


@pytest.fixture
def by_split(result_row):
    """Two norms on three splits, each other data; the second norm is better by 1, 2 and 3 points."""
    return [
        result_row(norm=norm, split=str(k), fingerprint=f"{k}" * 16, test_score=0.5 + 0.1 * k + gain * (k + 1) / 100)
        for k in range(3)
        for norm, gain in (("none", 0), ("lip", 1))
    ]


def test_splits_are_averaged_over_and_paired(by_split):
    table = compare(build_table(by_split, Layout(rows=("norm",), cols=(), over=("split",))), "none")
    cell = table.cells[("lip",), ()]
    assert cell.n == 3 and cell.mean == pytest.approx(0.62) and set(cell.values) == {("0",), ("1",), ("2",)}
    assert (cell.difference.n, cell.difference.mean) == (3, pytest.approx(0.02))


def test_splits_and_seeds_together_are_pairs_of_both(by_split):
    twice = [*by_split, *(run | {"seed": 1, "run_id": f"{k:012x}"} for k, run in enumerate(by_split))]
    with pytest.raises(UsageError, match="differ in seed"):
        build_table(twice, Layout(rows=("norm",), cols=(), over=("split",)))
    table = build_table(twice, Layout(rows=("norm",), cols=(), over=("seed", "split")))
    assert table.usual_n == 6


def test_splits_that_are_not_averaged_over_are_named_with_the_way_to_do_it(by_split):
    with pytest.raises(UsageError) as caught:
        build_table(by_split, Layout(rows=("norm",), cols=()))
    assert caught.value.message == "Cells would average runs that differ in split (0, 1, 2)."
    assert "--over seed,split" in caught.value.hint and "fingerprint" not in caught.value.hint
