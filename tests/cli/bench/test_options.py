import click
import pytest

from cli.bench.options import EDGES, NODES, Names, Numbers, graph_choices, names_epilog
from lipgnn.bench.graphs import GraphChoice
from lipgnn.errors import UsageError


def choices(default=None, **given):
    return graph_choices(**{"dataset": None, "nodes": None, "edges": None, **given}, default=default)


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


def test_without_a_word_the_graph_is_the_default():
    assert choices() == [GraphChoice(nodes=NODES, edges=EDGES)]
    assert choices(default="cora") == choices(dataset="cora") == [GraphChoice("cora")]


def test_a_size_follows_the_other_at_a_fixed_mean_degree():
    assert choices(nodes=(2 * NODES, 8 * NODES)) == [
        GraphChoice(nodes=2 * NODES, edges=2 * EDGES),
        GraphChoice(nodes=8 * NODES, edges=8 * EDGES),
    ]
    assert choices(edges=(3 * EDGES,)) == [GraphChoice(nodes=3 * NODES, edges=3 * EDGES)]
    assert choices(nodes=(10,), edges=(30, 40), default="cora") == [
        GraphChoice(nodes=10, edges=30),
        GraphChoice(nodes=10, edges=40),
    ]


@pytest.mark.parametrize("given", [{"nodes": (5,)}, {"edges": (5,)}])
def test_a_data_set_has_its_own_size(given):
    with pytest.raises(UsageError, match="has its own nodes and edges"):
        choices(dataset="cora", **given)


def test_names_are_explained_in_help():
    named = {"gather": "the limit", "fused recorded": "an epoch"}
    assert names_epilog(named) == ("\b\nWhat is measured:\n  gather          the limit\n  fused recorded  an epoch\n\n")
