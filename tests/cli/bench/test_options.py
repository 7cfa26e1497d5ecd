from pathlib import Path

import click
import pytest

from cli.bench.options import EDGES, NODES, Names, Numbers, effort_of, graph_choice, names_epilog
from lipgnn.errors import UsageError

NOTHING = {"dataset": None, "undirected": False, "nodes": None, "edges": None}


def choice(default=None, **given):
    return graph_choice(**{**NOTHING, **given}, default=default)


def test_numbers_are_lists():
    assert Numbers().convert("8, 64", None, None) == (8, 64)
    for wrong in ("", "8,", "0", "-1", "8x8", "1.5"):
        with pytest.raises(click.BadParameter, match="no list of whole numbers"):
            Numbers().convert(wrong, None, None)


def test_names_are_lists_in_order_each_once():
    kind = Names("kernel", ["fused", "dgl"])
    assert kind.convert("dgl, fused,dgl", None, None) == ("dgl", "fused")
    with pytest.raises(UsageError, match="Unknown kernel 'fusd'") as raised:
        kind.convert("fusd", None, None)
    assert "Did you mean 'fused'?" in raised.value.hint


def test_without_a_word_the_graph_is_as_large_as_ogbn_arxiv():
    assert (choice().dataset, choice().nodes, choice().edges) == (None, NODES, EDGES)
    assert choice(default="cora").dataset == "cora"


def test_a_size_follows_the_other_at_a_fixed_mean_degree():
    assert choice(nodes=17_000).edges == EDGES / 10
    assert choice(edges=250_000).nodes == NODES / 10
    both = choice(nodes=10, edges=30, default="cora")
    assert (both.dataset, both.nodes, both.edges) == (None, 10, 30)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"dataset": "cora", "nodes": 5}, "has its own nodes and edges"),
        ({"dataset": "cora", "edges": 5}, "has its own nodes and edges"),
        ({"undirected": True}, "both directions already"),
    ],
)
def test_options_that_contradict_each_other_are_refused(given, message):
    with pytest.raises(UsageError, match=message):
        choice(**given)


def test_paths_are_made_absolute_and_names_are_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("folder", "cora"):
        Path(name).mkdir()
    assert choice(dataset="folder").dataset == str(tmp_path / "folder")
    assert choice(dataset="cora", undirected=True).dataset == "cora"


def test_neither_time_nor_memory_is_nothing():
    assert effort_of(repeats=0, threads=2, peak=True).threads == 2
    with pytest.raises(UsageError, match="Neither time nor memory"):
        effort_of(repeats=0, threads=2, peak=False)


def test_names_are_explained_in_help():
    assert names_epilog({"gather": "the limit"}) == "\b\nWhat is measured:\n  gather      the limit\n\n"
