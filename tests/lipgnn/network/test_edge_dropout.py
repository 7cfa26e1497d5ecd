"""Edges left out in training: how many, which never, and what remains of the graph."""

import pytest
import torch
from networks import bare

from lipgnn.network.edge_dropout import EdgeDropout
from lipgnn.network.hops import Hop
from lipgnn.norms import GraphNorm
from lipgnn.runtime import EDGE_TYPE, dgl


@pytest.fixture
def graph():
    torch.manual_seed(0)
    return dgl.add_self_loop(dgl.remove_self_loop(dgl.rand_graph(100, 4000)))


def pairs(graph):
    return set(zip(*(end.tolist() for end in graph.edges()), strict=True))


def test_the_share_asked_for_is_left_out_anew_every_time_and_self_loops_never(graph):
    drop = EdgeDropout(0.3)
    loops, others = {(i, i) for i in range(100)}, graph.num_edges() - 100
    thinner = [drop(graph) for _ in range(20)]
    assert len({frozenset(pairs(one)) for one in thinner}) == 20
    for one in thinner:
        assert one.num_nodes() == 100 and loops <= pairs(one) <= pairs(graph)
    kept = sum(one.num_edges() - 100 for one in thinner) / (20 * others)
    # Six standard deviations of a mean of 20 · others draws.
    assert abs(kept - 0.7) < 6 * (0.21 / (20 * others)) ** 0.5


def test_evaluation_and_a_share_of_zero_see_the_graph_itself(graph):
    assert EdgeDropout(0.3).eval()(graph) is graph
    assert EdgeDropout(0.0)(graph) is graph


def test_every_graph_of_a_list_is_thinned_and_its_targets_stay(graph):
    hops = [Hop(graph, 50, torch.arange(100)), Hop(graph, 10)]
    thinner = EdgeDropout(0.5)(hops)
    assert [hop.targets for hop in thinner] == [50, 10] and thinner[0].rows is hops[0].rows
    assert all(hop.graph.num_edges() < graph.num_edges() for hop in thinner)
    assert pairs(thinner[0].graph) != pairs(thinner[1].graph)


@pytest.mark.parametrize("model", ["gat", "gcn"])
def test_a_step_is_one_on_the_thinner_graph(graph, model):
    x = torch.randn(100, 3)
    network = bare(3, 2, model=model, layers=3, hidden=2, heads=2, edge_dropout=0.5)
    torch.manual_seed(1)
    out = network(graph, x)
    torch.manual_seed(1)
    thinner = EdgeDropout(0.5)(graph)
    torch.testing.assert_close(out, network.eval()(thinner, x))
    assert not torch.allclose(out, network(graph, x))


def test_nodes_stay_in_the_graph_of_a_batch_that_they_are_of():
    sizes = torch.tensor([2, 3])
    graph = dgl.batch([dgl.graph((torch.arange(n), torch.arange(n))) for n in sizes.tolist()])
    x = torch.arange(10.0).view(5, 2)
    thinner = EdgeDropout(0.5).train()(graph)
    torch.testing.assert_close(GraphNorm(2)(thinner, x), GraphNorm(2)(graph, x))
    assert not torch.equal(GraphNorm(2)(thinner, x), GraphNorm(2)(None, x))
    torch.testing.assert_close(GraphNorm(2)(EdgeDropout(0.5)(thinner), x), GraphNorm(2)(graph, x))


def test_edges_keep_their_types(graph):
    sources, targets = graph.edges()
    graph.edata[EDGE_TYPE] = (7 * sources + targets) % 5
    thinner = EdgeDropout(0.5)(graph)
    sources, targets = thinner.edges()
    assert thinner.num_edges() < graph.num_edges()
    assert torch.equal(thinner.edata[EDGE_TYPE], (7 * sources + targets) % 5)
