"""By which metric runs are measured."""

import dataclasses

import numpy as np
import pytest

from lipgnn.catalog import CHOICES, METRICS
from lipgnn.datasets import Split, load, prepare
from lipgnn.errors import DataError, UsageError
from lipgnn.spec.run import RunSpec
from lipgnn.tasks import load as load_task
from lipgnn.tasks import metric_of_data
from lipgnn.tasks.measured import measured


@pytest.fixture(scope="module")
def grid():
    return load("minesweeper:6", split="0")


@pytest.fixture(scope="module")
def several():
    planted = load("planted")
    labels = np.random.RandomState(0).randint(2, size=(planted.num_nodes, 2)).astype(np.float32)
    labels[:5] = np.nan
    keep = np.arange(planted.num_nodes) >= 5
    split = Split(*(mask & keep for mask in planted.split.parts.values()))
    source = dataclasses.replace(planted.source, labels=labels, splits={"public": split})
    return dataclasses.replace(planted, source=source, split=split)


@pytest.mark.parametrize(
    "dataset, metric",
    [
        ("cora", "accuracy"),
        ("minesweeper", "roc-auc"),
        ("minesweeper:9:1:undirected", "roc-auc"),
        ("tolokers", "roc-auc"),
        ("questions", "roc-auc"),
        ("roman-empire", "accuracy"),
        ("some/where/minesweeper.npz", "roc-auc"),
        ("ogbn-proteins", "roc-auc"),
        ("trees:3", "accuracy"),
        ("some/where/mine.npz", "auto"),
    ],
)
def test_a_name_says_the_metric_where_it_can(dataset, metric):
    assert RunSpec(dataset=dataset).metric == metric
    asked = RunSpec(dataset=dataset, metric="macro-f1")
    assert asked.metric == "macro-f1"


def test_data_of_a_file_says_it_when_it_is_read(several, grid, tmp_path):
    spec = RunSpec(dataset="mine.npz")
    assert measured(spec, several).metric == "roc-auc"
    assert measured(spec, load("planted")).metric == "accuracy"
    assert measured(spec, grid).metric == "accuracy"
    from lipgnn.datasets import write_npz

    write_npz(several.source, tmp_path / "mine.npz")
    assert metric_of_data(str(tmp_path / "mine.npz")) == "roc-auc"
    assert metric_of_data("minesweeper") == "roc-auc"


def test_auto_and_its_name_are_one_run(several):
    plain, named = RunSpec(dataset="cora"), RunSpec(dataset="cora", metric="accuracy")
    assert plain.run_id("f") == named.run_id("f") != RunSpec(dataset="cora", metric="macro-f1").run_id("f")
    own = measured(RunSpec(dataset="mine.npz"), several)
    assert own.run_id("f") == RunSpec(dataset="mine.npz", metric="roc-auc").run_id("f")


@pytest.mark.parametrize("metric", [name for name, entry in METRICS.items() if entry.about != CHOICES])
def test_two_classes_have_every_metric(grid, metric):
    assert measured(RunSpec(dataset="minesweeper:6", metric=metric), grid).metric == metric


@pytest.mark.parametrize("metric", ["roc-auc", "average-precision"])
@pytest.mark.parametrize("dataset", ["planted", "trees:2"])
def test_more_classes_have_no_order_of_yes_and_no(dataset, metric):
    with pytest.raises(UsageError, match=r"is of two classes, and data set .* has \d") as caught:
        measured(RunSpec(dataset=dataset, metric=metric), load_task(dataset))
    assert caught.value.hint == "Use --metric accuracy or macro-f1."


@pytest.mark.parametrize("metric", ["accuracy", "macro-f1"])
def test_several_labels_have_no_class(several, metric):
    with pytest.raises(UsageError, match="items with one class each") as caught:
        measured(RunSpec(dataset="mine.npz", metric=metric), several)
    assert "--metric roc-auc" in caught.value.hint
    assert measured(RunSpec(dataset="mine.npz", metric="average-precision"), several)


@pytest.mark.parametrize("part", ["train", "val", "test"])
@pytest.mark.parametrize("label", [0, 1])
def test_a_part_of_one_kind_is_refused_before_anything_is_computed(grid, part, label):
    split = dataclasses.replace(grid.split, **{part: grid.split.parts[part] & (grid.labels_array == label)})
    one_sided = dataclasses.replace(grid, split=split)
    spec = RunSpec(dataset="minesweeper:6")
    with pytest.raises(DataError, match=f"the {part} part of 'minesweeper:6' has one alone"):
        measured(spec, one_sided)
    assert measured(spec.with_values(metric="accuracy"), one_sided).metric == "accuracy"


def test_nodes_do_not_walk(grid):
    with pytest.raises(UsageError, match=r"choice accuracy is of walks along edges, and data set .* has none"):
        measured(RunSpec(dataset="minesweeper:6", metric="choice-accuracy"), grid)


@pytest.mark.parametrize(("scale", "form"), [(1.0, "standard"), (0.0, "row")])
def test_auto_features_and_their_form_are_one_run(scale, form):
    planted = load("planted")
    features = np.random.RandomState(0).normal(size=(planted.num_nodes, 3)).astype(np.float32) * scale
    source = dataclasses.replace(planted.source, features=features)
    data = prepare(source, planted.split, features="auto")
    auto, named = (RunSpec(dataset="my.npz", metric="accuracy", features=name) for name in ("auto", form))
    assert measured(auto, data) == measured(named, data) == named
