"""The graph of walks: its continuations are those of DGL's line graph, and what is no such graph is refused."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from walkers import DEAD_END, FOUR, make, random_edges

from lipgnn.errors import DataError, UsageError
from lipgnn.runtime import dgl
from lipgnn.walks import WalkGraph
from lipgnn.walks.graph import continuations_size


def pairs_of(graph):
    first, after = graph.continuations
    before = torch.arange(graph.num_edges).repeat_interleave(first.diff())
    return list(zip(before.tolist(), after.tolist(), strict=True))


def by_definition(edges):
    return [
        (e, f)
        for e, (tail, middle) in enumerate(edges)
        for f, (source, head) in enumerate(edges)
        if middle == source and tail != head
    ]


@pytest.mark.parametrize("edges", [FOUR, DEAD_END, [(0, 1)], [(0, 0)], [(0, 0), (0, 0)]])
def test_continuations_are_those_of_the_definition_and_of_dgl(edges):
    """G3, with self-loops, repeated edges, dead ends, and nodes that no edge leaves."""
    graph = make(edges, 4)
    line = dgl.line_graph(dgl.graph(tuple(zip(*edges, strict=True)), num_nodes=4), backtracking=False)
    of_dgl = sorted(zip(*(ends.tolist() for ends in line.edges()), strict=True))
    assert pairs_of(graph) == by_definition(edges) == of_dgl


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 8), st.integers(0, 20), st.integers(0, 2**31))
def test_continuations_of_any_graph(nodes, further, seed):
    edges = random_edges(seed, nodes, further)
    graph = make(edges, nodes)
    assert sorted(pairs_of(graph)) == by_definition(edges)
    assert continuations_size(graph.sources, graph.targets, nodes) == len(by_definition(edges))


def test_a_graph_without_edges_has_no_continuations():
    graph = make([], 3)
    assert pairs_of(graph) == []
    assert continuations_size(graph.sources, graph.targets, 3) == 0


def test_moves_end_in_states_and_stay_where_nothing_follows():
    graph = make([*FOUR, (3, 4)], 5)
    moves = graph.moves("nb")
    found = list(zip(moves.origin.tolist(), moves.to.tolist(), strict=True))
    edges = [*FOUR, (3, 4)]
    stays = [(e, e) for e in range(9) if edges[e] != (3, 4) and not [f for g, f in by_definition(edges) if g == e]]
    assert sorted(found) == sorted(by_definition(edges) + stays)
    assert moves.closed.tolist() == [8]
    assert graph.moves("plain").closed.tolist() == [4]
    with pytest.raises(UsageError, match="Unknown walk 'back'"):
        graph.moves("back")


def test_the_windows_that_still_walk_are_the_first_ones():
    sources, targets = torch.tensor([0, 1, 2, 2, 3, 4, 5]), torch.tensor([1, 0, 3, 2, 2, 5, 4])
    graph = WalkGraph(sources, targets, 6, torch.tensor([0, 0, 1, 1, 2, 2]), torch.tensor([3, 1, 1]))
    assert graph.walking("plain") == [(6, 7), (2, 2), (2, 2)]
    # An edge and the way back are the only moves of windows 0 and 2, so that mass stays: a move for every edge there.
    assert graph.walking("nb") == [(2, 2), (2, 2)]


GOOD = {
    "sources": torch.tensor([0, 1, 2, 3]),
    "targets": torch.tensor([1, 0, 3, 2]),
    "num_nodes": 4,
    "node_window": torch.tensor([0, 0, 1, 1]),
    "horizons": torch.tensor([2, 1]),
}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sources": torch.tensor([0, 1, 2, 4])}, "sources go from 0 to 4, and there are 4"),
        ({"targets": torch.tensor([-1, 0, 3, 2])}, "targets go from -1 to 3"),
        ({"targets": torch.tensor([1, 0, 3])}, "4 sources, 3 targets"),
        ({"num_nodes": 5}, "windows of 4 of 5 nodes"),
        ({"horizons": torch.tensor([1, 2])}, "horizons must descend"),
        ({"horizons": torch.tensor([2, -1])}, "at least 0"),
        ({"horizons": torch.tensor([2])}, "node_window go from 0 to 1, and there are 1"),
        ({"node_window": torch.tensor([1, 1, 0, 0])}, "nodes are not in the order"),
        ({"targets": torch.tensor([2, 0, 3, 2])}, "from one window to another"),
        ({"sources": torch.tensor([2, 1, 0, 3]), "targets": torch.tensor([3, 0, 1, 2])}, "edges are not in the order"),
        ({"sources": torch.tensor([0, 1, 2, 3], dtype=torch.int32)}, "int64"),
        ({"sources": torch.tensor([0, 1, 2, 3], device="meta")}, "different devices"),
    ],
)
def test_refuses_what_is_no_graph_of_walks(changes, words):
    WalkGraph(**GOOD)
    with pytest.raises(DataError, match=words):
        WalkGraph(**GOOD | changes)
