"""The product graph: its edges and types against loops, and types that no element changes (E4)."""

import itertools

import numpy as np
import pytest

from lipgnn.errors import UsageError
from lipgnn.groups import Action, Group, Relation, act_on_grid, offsets_on_grid, product_graph
from lipgnn.groups.grid import matrices_of


def edges_of(graph):
    return dict(
        zip(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True), graph.types.tolist(), strict=True)
    )


def assert_left_invariant(graph):
    """E4: act with g on both ends, and the type is the same; the edges are mapped onto themselves."""
    edges = edges_of(graph)
    assert len(edges) == len(graph.sources)
    for moves in graph.action.nodes():
        assert {(moves[j], moves[i]): kind for (j, i), kind in edges.items()} == edges


@pytest.mark.parametrize(("name", "edges"), [("z2", 484), ("mirror", 1936), ("p4", 7744), ("p4m", 30976)])
def test_sizes_on_eight_by_eight_pixels(name, edges):
    """Those of the specification, for a reach of 1."""
    graph = product_graph(act_on_grid(name, 8), offsets_on_grid(8, 1))
    assert len(graph.sources) == edges
    assert graph.num_types == 9 * graph.action.group.order == len(np.unique(graph.types))
    assert graph.num_nodes == 64 * graph.action.group.order
    assert (np.lexsort((graph.sources, graph.targets)) == np.arange(edges)).all()


@pytest.mark.parametrize("name", ["z2", "mirror", "p4", "p4m"])
def test_types_are_left_invariant(name):
    assert_left_invariant(product_graph(act_on_grid(name, 4), offsets_on_grid(4, 1)))


@pytest.mark.parametrize("name", ["mirror", "p4m"])
def test_types_are_what_the_formula_says(name):
    """( h⁻¹(x_j − x_i), h⁻¹ĥ ) by matrices, edge by edge."""
    side, reach = 3, 2
    graph = product_graph(act_on_grid(name, side), offsets_on_grid(side, reach))
    matrices, size = matrices_of(name), len(matrices_of(name))
    for (source, target), kind in edges_of(graph).items():
        (j, other), (i, own) = divmod(source, size), divmod(target, size)
        offset = np.array(divmod(j, side)) - np.array(divmod(i, side))
        seen = matrices[own].T @ offset + reach  # orthogonal: transposed is inverse
        quotient = matrices[own].T @ matrices[other]
        label, number = divmod(kind, size)
        assert label == seen[0] * (2 * reach + 1) + seen[1]
        assert (matrices[number] == quotient).all()


def ring(points, order):
    """Points of a ring that are turned by multiples of 360 / order degrees."""
    numbers = np.arange(order)
    group = Group(f"turns of {order}", (numbers[:, None] + numbers) % order)
    return Action(group, (np.arange(points) + numbers[:, None] * (points // order)) % points)


def neighbours(points, label):
    pairs = [(j, i) for i in range(points) for j in ((i - 1) % points, i, (i + 1) % points)]
    return Relation(*np.array(pairs).T, np.array([label(j, i) for j, i in pairs]))


def test_a_lattice_that_is_no_image_works():
    """Six points of a ring and its turns, with an offset around the ring as label, and with a label of every pair."""
    by_offset = product_graph(ring(6, 3), neighbours(6, lambda j, i: (j - i + 1) % 6))
    assert_left_invariant(by_offset)
    assert by_offset.num_types == 9
    assert len(by_offset.sources) == 6 * 3 * 9
    every = itertools.count()
    by_pair = product_graph(ring(6, 6), neighbours(6, lambda j, i: next(every)))
    assert_left_invariant(by_pair)
    # Points turn into each other, so that a pair of one point stands for those of all: three neighbours, six turns.
    assert len(np.unique(by_pair.types)) == 18 * 6


def test_a_relation_that_the_group_does_not_keep_is_refused():
    line = [(i, i) for i in range(4)] + [(0, 1), (1, 0)]
    with pytest.raises(UsageError, match=r"moves the pair of points \(0, 1\) to one that is none"):
        product_graph(ring(4, 4), Relation(*np.array(line).T, np.zeros(6, dtype=int)))


def test_labels_that_the_group_does_not_keep_are_refused():
    # Two pairs of one label, which a turn gives two.
    labels = {0: 0, 1: 0, 2: 1, 3: 2}
    with pytest.raises(UsageError, match="different labels, and they have one"):
        product_graph(ring(4, 4), Relation(np.arange(4), np.arange(4), np.array([labels[i] for i in range(4)])))
