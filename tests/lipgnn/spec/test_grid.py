import pytest
from hypothesis import given
from hypothesis import strategies as st

from lipgnn.errors import UsageError
from lipgnn.spec.grid import Grid, as_ranges, grid_of, parse_list, parse_lists, read_grid, runs_of


@pytest.mark.parametrize(
    "name, text, values",
    [
        ("layers", "2,5,10", [2, 5, 10]),
        ("layers", "2-30:4", [2, 6, 10, 14, 18, 22, 26, 30]),
        ("seed", "0-4", [0, 1, 2, 3, 4]),
        ("seed", "7", [7]),
        ("seed", "3-3, 9", [3, 9]),
        ("norm", "none,lip+layer", ["none", "lip+layer"]),
        ("lr", "1e-3,0.01", [0.001, 0.01]),
        ("dataset", "2-3,pair-si", ["2-3", "pair-si"]),
        ("split", "0-3,7", ["0", "1", "2", "3", "7"]),
        ("split", "public,random:0", ["public", "random:0"]),
    ],
)
def test_lists(name, text, values):
    assert parse_list(name, text) == values


@pytest.mark.parametrize(
    "values, text",
    [
        ([], ""),
        ([3], "3"),
        ([1, 0], "0–1"),
        ([0, 1, 2, 3, 4, 7], "0–4, 7"),
        ([5, 5, 9, 10, 3], "3, 5, 9–10"),
        (["public", "random:1", "random:0", "3", "2"], "public, random:0–1, 2–3"),
        (["07", "0/1", "0/2"], "07, 0/1, 0/2"),
    ],
)
def test_values_are_told_in_ranges(values, text):
    assert as_ranges(values) == text


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("layers", "5-2", "empty range '5-2'"),
        ("layers", "2-9:0", "empty range"),
        ("layers", "2,,3", "empty value in '2,,3'"),
        ("norm", "lip,none,", "empty value in 'lip,none,'"),
        ("layers", "2-", "got '2-'"),
        ("lr", "fast", "got 'fast'"),
        ("layrs", "2", "Unknown option 'layrs'"),
    ],
)
def test_wrong_lists_are_refused(name, text, message):
    with pytest.raises(UsageError, match=message):
        parse_list(name, text)


@pytest.mark.parametrize(
    "name, text, near",
    [
        ("norm", "none,lipp", "lip"),
        ("weight_norm", "none,cab:4", "cap"),
        ("weight_norm", "none,cap:x", None),
        ("head_sharing", "none,colab", "collab"),
        ("compress", "none,topk", None),
        ("compress", "none,top:4", "topk"),
        ("horizon", "given,shortes:2", "shortest"),
        ("recompute_every", "auto,3x", None),
        ("layer_weight_decay", "0.1,sane", "same"),
        ("start", "scratch,compress", "compressed"),
    ],
)
def test_a_misspelt_value_is_no_combination_that_is_left_out(name, text, near):
    """The rest of the grid was computed without it."""
    with pytest.raises(UsageError) as caught:
        parse_list(name, text)
    assert caught.value.hint.startswith("Did you mean ") == (near is not None)
    assert near is None or f"Did you mean {near!r}?" in caught.value.hint
    with pytest.raises(UsageError):
        grid_of({"grid": {name: text.split(",")}}, "here")


@given(st.integers(0, 50), st.integers(0, 50), st.integers(1, 9))
def test_a_range_holds_both_ends_when_the_step_meets_them(first, length, step):
    values = parse_list("seed", f"{first}-{first + length}:{step}")
    assert values == [k for k in range(first, first + length + 1) if (k - first) % step == 0]


def test_crossed_values_meet_all_others_and_paired_ones_their_partner():
    grid = Grid({"norm": ["none", "lip"]}, {"dataset": ["cora", "pubmed"], "lr": [0.1, 0.2]}, {"layers": 3})
    runs, left_out = grid.runs({})
    assert [(r.norm, r.dataset, r.lr, r.layers) for r in runs] == [
        ("none", "cora", 0.1, 3),
        ("none", "pubmed", 0.2, 3),
        ("lip", "cora", 0.1, 3),
        ("lip", "pubmed", 0.2, 3),
    ]
    assert left_out == []


def test_the_same_run_is_planned_once():
    assert len(Grid({"lr": [0.1, 0.1], "seed": [0, 1]}).runs({})[0]) == 2


def test_combinations_that_are_no_runs_are_left_out_and_told():
    runs, left_out = Grid({"model": ["gat", "gcn"], "norm": ["none", "lip"], "seed": [0, 1]}).runs({})
    assert len(runs) == 6
    assert left_out == ["2 combinations are left out: Norm 'lip' acts on attention scores, and model 'gcn' has none."]


def test_a_grid_without_a_single_run_is_an_error():
    with pytest.raises(UsageError, match="No combination of the sweep is a run"):
        Grid({"model": ["gcn"], "norm": ["lip"]}).runs({})


def test_defaults_and_environment_fill_the_rest_as_for_a_single_run():
    runs, _ = Grid({"model": ["gat", "gt"], "dataset": ["texas"]}).runs({"LIPGNN_EPOCHS": "7"})
    assert [(r.kappa, r.split, r.epochs) for r in runs] == [(4.0, "geom-gcn:0", 7), (1.0, "geom-gcn:0", 7)]


@pytest.mark.parametrize(
    "tables, message",
    [
        (({"layrs": [1]}, {}, {}), "Unknown option of a sweep 'layrs'"),
        (({"layers": []}, {}, {}), "layers has no value"),
        (({"layers": [1]}, {}, {"layers": 2}), "layers is given in two tables"),
        (({}, {"lr": [0.1], "seed": [0, 1]}, {}), "as many values each, got lr 1, seed 2"),
    ],
)
def test_contradictions_are_refused(tables, message):
    with pytest.raises(UsageError, match=message):
        Grid(*tables)


def test_the_command_line_replaces_what_the_file_says():
    grid = Grid({"layers": [1, 2]}, {"lr": [0.1, 0.2]}, {"epochs": 5})
    changed = grid.with_values({"layers": [9], "epochs": [1, 2]})
    assert (changed.crossed, changed.paired, changed.fixed) == (
        {"layers": [9], "epochs": [1, 2]},
        {"lr": [0.1, 0.2]},
        {},
    )


def test_a_file_says_the_same(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(
        '[grid]\nlayers = [2, 4]\nseed = "0-1"\n[zip]\nlr = [0.1, 0.2]\nhidden = [4, 8]\n[fixed]\nepochs = 3\n'
    )
    assert len(read_grid(path).runs({})[0]) == 8


def test_settings_beat_options_and_what_is_not_given_is_left_out():
    options = {"layers": "2-4", "lr": "0.1", "norm": None}
    assert parse_lists(options, ["lr=0.2,0.3", "batch-size=7"]) == {
        "layers": [2, 3, 4],
        "lr": [0.2, 0.3],
        "batch_size": [7],
    }
    with pytest.raises(UsageError, match="KEY=VALUES, got 'lr'"):
        parse_lists({}, ["lr"])


@pytest.mark.parametrize(
    "text, message",
    [
        ("[gird]\nlayers = [2]", "Did you mean 'grid'"),
        ("lagers = [2]", "Valid: grid, zip, fixed"),
        ("layers = [2]", "layers stands in no table"),
        ("layers = [2]", "Put it under [grid]"),
        ("[fixed]\nlayers = [2]", "layers must be a whole number, got [2]. (from '"),
        ("[fixed]\nlayres = 2", "Did you mean 'layers'"),
        ("", "has no options"),
        ("[grid]\n", "has no options"),
        ("grid = 3", "is no table"),
        ("[grid]\nlayers = ['x']", "layers must be a whole number"),
        ("[grid]\nlayrs = [2]", "Did you mean 'layers'"),
        ("[grid", "Cannot read the sweep"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, text, message):
    path = tmp_path / "grid.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_grid(path)
    assert message in f"{caught.value.message} {caught.value.hint}"


def test_a_grid_laid_over_another_takes_its_options_into_its_own_tables():
    below = Grid({"layers": [1, 2], "seed": [0]}, {"lr": [0.1, 0.2]}, {"epochs": 5})
    above = Grid({"epochs": [7, 8]}, {"layers": [3, 4]}, {"seed": 9})
    laid = below.overlaid(above)
    assert (laid.crossed, laid.paired, laid.fixed) == (
        {"epochs": [7, 8]},
        {"lr": [0.1, 0.2], "layers": [3, 4]},
        {"seed": 9},
    )


def test_restricting_an_option_keeps_its_partners():
    grid = Grid({"layers": [1, 2]}, {"model": ["gcn", "gat", "gat"], "norm": ["none", "none", "lip"]}, {"epochs": 5})
    assert grid.restricted("model", ["gat"]).paired == {"model": ["gat", "gat"], "norm": ["none", "lip"]}
    assert grid.restricted("layers", [2, 9]).crossed == {"layers": [2]}
    assert grid.restricted("epochs", [5]) == grid
    assert grid.restricted("epochs", [6]) is None
    assert grid.restricted("seed", [0]) is None


def test_runs_of_several_grids_are_planned_once_and_one_of_them_may_have_none():
    grids = [Grid({"layers": [2, 3]}), Grid({"layers": [3, 4]}), Grid(fixed={"model": "gcn", "norm": "lip"})]
    runs, left_out = runs_of(grids, {})
    assert [run.layers for run in runs] == [2, 3, 4]
    assert left_out == ["1 combination is left out: Norm 'lip' acts on attention scores, and model 'gcn' has none."]


def test_a_sweep_too_large_to_be_meant_is_refused_by_count_before_it_is_made():
    for text, count in (("0-4294967295", "4,294,967,296"), ("0-99999,100000-100000", "100,001")):
        with pytest.raises(UsageError, match=f"values of seed are {count}"):
            parse_list("seed", text)
    assert len(parse_list("seed", "0-4294967295:100000")) == 42950
    grid = Grid({"seed": range(1000), "layers": range(1, 11)}, {"lr": [0.1] * 11, "epochs": [1] * 11})
    assert grid.size == 110_000
    with pytest.raises(UsageError, match="110,000, and a sweep has at most 100,000 runs"):
        grid.runs({})
    # Together, too.
    with pytest.raises(UsageError, match="120,000"):
        runs_of([Grid({"seed": range(60_000)})] * 2, {})


def test_splits_by_number_are_runs_and_may_be_numbers_in_a_file():
    runs, _ = Grid({"split": parse_list("split", "0-9")}, fixed={"dataset": "minesweeper"}).runs({})
    assert [run.split for run in runs] == [str(k) for k in range(10)]
    assert len({run.run_id("f") for run in runs}) == 10
    assert grid_of({"grid": {"split": [0, 1]}}, "here").crossed["split"] == ["0", "1"]


def test_numbered_splits_are_a_range():
    assert parse_list("split", "0-2") == ["0", "1", "2"]
    assert parse_list("split", "geom-gcn:8-9,public,random:0-1") == [
        "geom-gcn:8",
        "geom-gcn:9",
        "public",
        "random:0",
        "random:1",
    ]
    assert parse_list("split", "random:3:20:30") == ["random:3:20:30"]
