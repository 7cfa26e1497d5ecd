"""Graphs without self-loops: the other edges in their order, once for every graph, and let go with it."""

import gc
import weakref

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.nn.loops import without_loops
from lipgnn.runtime import dgl


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_edges_between_different_nodes_stay_in_their_order(data, reference):
    graph = data.draw(reference.graphs(complete="nothing"))
    edges = reference.edges_of(graph)
    found = without_loops(graph)
    assert found.graph.num_nodes() == graph.num_nodes()
    assert reference.edges_of(found.graph) == [(j, i) for j, i in edges if j != i]
    kept = range(len(edges)) if found.kept is None else found.kept.tolist()
    assert [edges[e] for e in kept] == reference.edges_of(found.graph)


def test_a_message_flow_graph_stays_one():
    block = dgl.create_block(([0, 2, 1, 3], [0, 0, 1, 1]), num_src_nodes=4, num_dst_nodes=2)
    found = without_loops(block)
    assert found.graph.is_block and (found.graph.num_src_nodes(), found.graph.num_dst_nodes()) == (4, 2)
    assert [end.tolist() for end in found.graph.edges()] == [[2, 3], [0, 1]] and found.kept.tolist() == [1, 3]


def test_nodes_of_two_kinds_have_no_loops():
    graph = dgl.heterograph({("a", "to", "b"): ([0, 1], [0, 0])}, num_nodes_dict={"a": 2, "b": 1})
    assert without_loops(graph).graph is graph and without_loops(graph).kept is None


@pytest.mark.parametrize("idtype", [torch.int32, torch.int64])
def test_numbers_are_of_the_same_type(idtype, reference):
    assert without_loops(reference.small_graph().astype(idtype)).graph.idtype == idtype


@pytest.mark.parametrize("loops", [True, False])
def test_it_is_made_once_and_let_go_with_the_graph(loops, reference):
    graph = reference.small_graph(loops=loops)
    assert without_loops(graph).graph._graph is without_loops(graph).graph._graph
    gone = weakref.ref(without_loops(graph).graph)
    del graph
    gc.collect()
    assert gone() is None
