"""Both orders of the edges say the same as DGL, are made once, and divide the work evenly."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.errors import DataError, UsageError
from lipgnn.kernels import adjacency
from lipgnn.kernels.adjacency import Adjacency, EdgeOrder
from lipgnn.runtime import dgl


def edges_in(order, *, by_target):
    """(source, target, id) of every edge, read from one order."""
    ends = torch.repeat_interleave(torch.arange(len(order.start) - 1), order.start.diff())
    pairs = (order.other.long(), ends) if by_target else (ends, order.other.long())
    return list(zip(*(part.tolist() for part in (*pairs, order.edge_id)), strict=True))


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_both_orders_have_the_edges_of_the_graph(data, reference):
    graph = data.draw(reference.graphs(complete="nothing"))
    expected = [(source, target, number) for number, (source, target) in enumerate(reference.edges_of(graph))]
    found = Adjacency.of(graph)
    assert found.num_sources == found.num_targets == graph.num_nodes() and found.num_edges == graph.num_edges()
    assert sorted(edges_in(found.incoming, by_target=True), key=lambda edge: edge[2]) == expected
    outgoing = edges_in(found.outgoing, by_target=False)
    assert sorted(outgoing, key=lambda edge: edge[2]) == expected
    assert outgoing == sorted(outgoing, key=lambda edge: edge[:2]), "repeated edges lie side by side"


def test_pieces_cover_all_nodes_once_and_share_the_work():
    degrees = torch.cat([torch.tensor([30_000]), torch.ones(40_000, dtype=torch.int64)])
    start = torch.cat([torch.zeros(1, dtype=torch.int64), degrees.cumsum(0)])
    pieces = adjacency.pieces(start)
    assert pieces[0] == 0 and pieces[-1] == len(degrees) and (pieces.diff() >= 0).all()
    work = start + torch.arange(len(start))
    shares = work[pieces].diff()
    share = int(work[-1]) / (len(pieces) - 1)
    assert shares[1:].max() <= share + 2, "nothing but the hub, which is not divided, is above its share"
    assert len(pieces) - 1 > 20


@pytest.mark.parametrize("nodes", [0, 1, 5])
def test_graphs_without_edges(nodes):
    found = Adjacency.of(dgl.graph(([], []), num_nodes=nodes))
    assert found.incoming.start.tolist() == [0] * (nodes + 1)
    assert found.incoming.pieces.tolist() == [0, nodes]


def test_a_graph_too_large_for_32_bits_is_refused(monkeypatch, reference):
    graph = reference.small_graph()
    monkeypatch.setattr(graph, "num_src_nodes", lambda kind: 2**31)
    with pytest.raises(DataError, match="2147483648 nodes"):
        Adjacency.of(graph)


def test_sources_and_targets_of_a_bipartite_graph_are_counted_apart():
    graph = dgl.heterograph({("user", "likes", "film"): ([0, 4, 4], [1, 1, 0])}, {"user": 6, "film": 2})
    flow = dgl.to_block(graph, {"film": [0, 1]}, include_dst_in_src=False)["likes"]
    for found in (Adjacency.of(graph), Adjacency.of(flow)):
        assert found.num_targets == 2 and found.num_edges == 3
        assert found.incoming.others == found.num_sources and len(found.outgoing.start) == found.num_sources + 1
        assert sorted(edge[2] for edge in edges_in(found.outgoing, by_target=False)) == [0, 1, 2]


def test_a_graph_with_several_kinds_of_edges_is_refused():
    several = dgl.heterograph({("a", "to", "a"): ([0], [0]), ("a", "of", "a"): ([0], [0])})
    apart = dgl.heterograph({("a", "to", "a"): ([0], [0])}, {"a": 1, "b": 1})
    flow = dgl.to_block(dgl.heterograph({("a", "to", "b"): ([0], [0])}))
    for graph in (several, apart, flow):
        with pytest.raises(UsageError, match=r"this one has [12] kind\(s\) of edges and [124] of nodes"):
            Adjacency.of(graph)
    assert Adjacency.of(flow["to"]).num_edges == Adjacency.of(several["of"]).num_edges == 1


@pytest.mark.parametrize(
    "start, other, edge_id",
    [
        ([0, 1, 2], [0, 2], [0, 1]),
        ([0, 1, 2], [0, -1], [0, 1]),
        ([0, 1, 2], [0, 1], [0, 2]),
        ([0, 1, 2], [0, 1], [0]),
        ([0, 3, 2], [0, 1], [0, 1]),
        ([0, 1, 3], [0, 1], [0, 1]),
        ([1, 1, 2], [0, 1], [0, 1]),
    ],
)
def test_an_edge_to_a_node_that_is_not_there_is_refused(start, other, edge_id):
    EdgeOrder.checked(*map(torch.tensor, ([0, 1, 2], [0, 1], [1, 0])), 2)
    with pytest.raises(DataError, match="a node that is not there"):
        EdgeOrder.checked(*map(torch.tensor, (start, other, edge_id)), 2)
