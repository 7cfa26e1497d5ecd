import pytest

from lipgnn.catalog import METRICS, MODELS, RESIDUALS, parse_norm
from lipgnn.report.table.papers import read_papers
from lipgnn.results.columns import VALUES


def test_the_published_numbers_are_those_of_the_papers():
    numbers = read_papers()
    table = {
        (entry.dataset, entry.missing, entry.model, entry.norm): (entry.mean, entry.std, entry.depth)
        for entry in numbers
        if "Dasoulas" in entry.paper
    }
    assert len(table) == 30
    assert table["cora", 1.0, "gat", "lip"] == (0.753, 0.009, 11)
    assert table["citeseer", 1.0, "gat", "pair"] == (0.517, 0.011, 10)
    assert table["pubmed", 0.0, "ggnn", "none"] == (0.784, 0.021, 4)
    trees = {(entry.dataset, entry.model): entry.mean for entry in numbers if "Alon" in entry.paper}
    assert len(trees) == 26
    assert (trees["trees:5", "gat"], trees["trees:8", "ggnn"]) == (0.41, 0.16)
    assert ("trees:7", "gin") not in trees
    deep = {(entry.dataset, entry.depth): entry.mean for entry in numbers if "GCNII" in entry.paper}
    assert deep == {("cora", 64): 0.855, ("citeseer", 32): 0.734, ("pubmed", 16): 0.803}


def test_the_numbers_on_heterophilous_graphs_are_those_of_the_papers():
    numbers = read_papers()
    tuned = {(e.dataset, e.model): (e.mean, e.std, e.depth, e.metric) for e in numbers if e.paper.startswith("Luo")}
    assert len(tuned) == 12
    assert tuned["minesweeper", "gat"] == (0.9773, 0.0073, 15, "roc-auc")
    assert tuned["chameleon-filtered", "gcn"] == (0.4629, 0.034, 5, "accuracy")
    first = {(e.dataset, e.model): (e.mean, e.std, e.depth) for e in numbers if e.paper.startswith("Platonov")}
    assert len(first) == 25
    assert first["minesweeper", "gt"] == (0.9185, 0.0076, None)
    assert first["questions", "gat-sep"] == (0.7679, 0.0071, None)


def test_a_number_of_a_depth_that_is_not_stated_is_of_no_single_depth():
    entry = next(e for e in read_papers() if (e.depth, e.model, e.dataset) == (None, "gt", "minesweeper"))
    cell = {"dataset": "minesweeper", "missing": 0.0, "model": "gt", "norm": "layer", "residual": "identity"}
    assert entry.matches("test_score", {**cell, "metric": "roc-auc"})
    assert not entry.matches("test_score", {**cell, "layers": 5})


@pytest.mark.parametrize("entry", read_papers(), ids=lambda e: f"{e.dataset}-{e.missing}-{e.model}-{e.norm}")
def test_every_published_number_is_in_the_words_of_a_run_and_has_a_source(entry):
    assert entry.model in MODELS
    assert entry.value in VALUES
    parse_norm(entry.norm)
    assert entry.residual in (None, *RESIDUALS)
    assert entry.metric in METRICS
    assert 0 < entry.mean <= 1
    assert entry.paper and entry.table and entry.source
    assert entry.depth is None or entry.depth >= 1


def test_a_number_is_of_one_cell_alone():
    entry = next(e for e in read_papers() if (e.dataset, e.missing, e.model, e.norm) == ("cora", 1, "gat", "lip"))
    cell = {"dataset": "cora", "missing": 1.0, "model": "gat", "norm": "lip"}
    assert entry.matches("test_score", cell)
    assert entry.matches("last_test_score", cell), "the authors take the last epoch"
    assert entry.matches("test_score", {**cell, "layers": 11})
    for other in ({"layers": 12}, {"dataset": "citeseer"}, {"missing": 0.0}, {"norm": "pair"}, {"model": "gt"}):
        assert not entry.matches("test_score", {**cell, **other})
    assert not entry.matches("train_score", cell)
    assert entry.matches("test_score", {**cell, "metric": "accuracy"})
    assert not entry.matches("test_score", {**cell, "metric": "roc-auc"})


def test_fewer_trees_are_the_same_trees_scaled_down():
    entry = next(e for e in read_papers() if (e.dataset, e.model) == ("trees:5", "gat"))
    cell = {"missing": 0.0, "model": "gat", "norm": "layer", "layers": 6}
    for dataset, matches, scaled in (("trees:5", True, False), ("trees:5:250", True, True), ("trees:50", False, False)):
        spec = {**cell, "dataset": dataset}
        assert (entry.matches("train_score", spec), entry.scaled_down(spec)) == (matches, scaled)
    cora = next(e for e in read_papers() if e.dataset == "cora")
    assert not cora.scaled_down({"dataset": "cora:undirected"})


def test_a_number_that_is_of_one_residual_connection_is_of_no_other():
    entry = next(e for e in read_papers() if e.residual == "initial" and e.dataset == "cora")
    cell = {"dataset": "cora", "missing": 0.0, "model": "gcn", "norm": "none", "layers": 64, "residual": "initial"}
    assert entry.matches("test_score", cell)
    assert not entry.matches("test_score", {**cell, "residual": "identity"})
