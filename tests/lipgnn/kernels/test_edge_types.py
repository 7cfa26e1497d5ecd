"""Types of edges: read from the graph, and refused in one sentence where they are none."""

import pytest
import torch

from lipgnn.errors import DataError
from lipgnn.kernels.edge_types import TypedEdges, types_of
from lipgnn.runtime import EDGE_TYPE


@pytest.fixture
def graph(reference):
    return reference.build([(0, 1), (1, 1), (0, 0)], nodes=2)


def test_types_are_those_of_the_edges_in_their_order(graph):
    for dtype in (torch.int64, torch.int32):
        graph.edata[EDGE_TYPE] = torch.tensor([2, 0, 1], dtype=dtype)
        found = types_of(graph, 3)
        assert found.tolist() == [2, 0, 1] and found.dtype == torch.int64
        # Edges by target are (0, 0), (0, 1), (1, 1), and so they are by source.
        typed = TypedEdges.of(graph, 3)
        assert typed.incoming.tolist() == typed.outgoing.tolist() == [1, 2, 0]
        assert typed.incoming.dtype == torch.int32


def test_a_graph_without_types_is_refused(graph):
    with pytest.raises(DataError, match="tells 3 types of edges apart, and the graph does not say") as caught:
        types_of(graph, 3)
    assert "graph.edata['edge_type']" in caught.value.hint


@pytest.mark.parametrize(
    ("types", "said"),
    [
        (torch.tensor([0, 1, 3]), "of type 3, and the layer has 3 types, from 0 to 2"),
        (torch.tensor([0, -1, 1]), "of type -1, and types count from 0"),
        (torch.tensor([0.0, 1.0, 2.0]), "int64 or int32, and are float32 of shape (3,)"),
        (torch.tensor([True, False, True]), "and are bool of shape (3,)"),
        (torch.tensor([[0], [1], [2]]), "and are int64 of shape (3, 1)"),
    ],
)
def test_wrong_types_are_refused_each_time(graph, types, said):
    graph.edata[EDGE_TYPE] = types
    for _ in range(2):
        with pytest.raises(DataError) as caught:
            types_of(graph, 3)
        assert said in caught.value.message


def test_a_change_in_place_is_noticed(graph):
    graph.edata[EDGE_TYPE] = torch.tensor([0, 1, 2])
    types_of(graph, 3)
    graph.edata[EDGE_TYPE][1] = 5
    with pytest.raises(DataError, match="of type 5"):
        types_of(graph, 3)
    with torch.inference_mode():
        graph.edata[EDGE_TYPE] = torch.tensor([0, 1, 7])
        with pytest.raises(DataError, match="of type 7"):
            types_of(graph, 3)


def test_a_graph_without_edges_has_no_types_to_refuse(reference):
    empty = reference.build([], nodes=2)
    empty.edata[EDGE_TYPE] = torch.empty(0, dtype=torch.int64)
    assert types_of(empty, 1).shape == (0,)


def test_types_are_looked_at_once_for_a_tensor_that_stays(graph, monkeypatch):
    graph.edata[EDGE_TYPE] = torch.tensor([0, 1, 2])
    types_of(graph, 3)
    monkeypatch.setattr("lipgnn.kernels.edge_types._largest", None)
    types_of(graph, 4)
    types_of(graph.local_var(), 4)
