"""Energy and distance over edges in one compiled pass: as loops over the edges have them."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.errors import DataError
from lipgnn.kernels import fused
from lipgnn.kernels.smoothness import smoothness
from lipgnn.runtime import dgl

pytestmark = pytest.mark.skipif(
    fused.obstacle(torch.device("cpu")) is not None, reason=str(fused.obstacle(torch.device("cpu")))
)


def defined(edges, rows):
    """½ Σ ‖x_i/√d_i − x_j/√d_j‖², and the mean of ½ ‖x_i/|x_i| − x_j/|x_j|‖² over edges between two rows not zero."""
    roots = [math.sqrt(max(1, sum(target == node for _, target in edges))) for node in range(len(rows))]
    energies, distances = [], []
    for j, i in edges:
        pairs = list(zip(rows[i], rows[j], strict=True))
        energies.append(math.fsum((a / roots[i] - b / roots[j]) ** 2 for a, b in pairs) / 2)
        lengths = math.hypot(*rows[i]), math.hypot(*rows[j])
        if i != j and all(lengths):
            distances.append(math.fsum((a / lengths[0] - b / lengths[1]) ** 2 for a, b in pairs) / 2)
    return math.fsum(energies), math.fsum(distances) / len(distances) if distances else math.nan


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    width=st.integers(1, 20),
    zeros=st.sets(st.integers(0, 6), max_size=3),
    seed=st.integers(0, 1000),
)
def test_is_what_the_definitions_say(data, dtype, width, zeros, seed, reference):
    graph = data.draw(reference.graphs(complete=data.draw(st.sampled_from(["nothing", "loops"]))))
    x = reference.normal(seed, graph.num_nodes(), width, dtype=dtype)
    for row in zeros & set(range(graph.num_nodes())):
        x[row] = 0
    energy, distance = defined(reference.edges_of(graph), x.double().tolist())
    found = [value.item() for value in smoothness(graph, x)]
    assert found == pytest.approx([energy, distance], rel=1e-12, abs=1e-15, nan_ok=True)


def test_does_not_depend_on_the_number_of_threads():
    graph = dgl.rand_graph(3000, 20_000)
    x = torch.randn(3000, 16, generator=torch.Generator().manual_seed(0))
    threads, found = torch.get_num_threads(), []
    try:
        for number in (1, 3):
            torch.set_num_threads(number)
            found.append(smoothness(graph, x))
    finally:
        torch.set_num_threads(threads)
    assert found[0] == found[1]


def test_features_may_lie_anyhow(reference):
    x = torch.randn(5, 14, generator=torch.Generator().manual_seed(1))
    graph = reference.small_graph()
    assert smoothness(graph, x.T[::2]) == smoothness(graph, x.T[::2].clone(memory_format=torch.contiguous_format))


@pytest.mark.parametrize("size", [1e-200, 1e-30, 1e30, 1e200])
def test_distance_does_not_see_the_size_of_features(size, reference):
    """Squares of the smallest and the largest are beyond float64."""
    graph, x = reference.small_graph(), reference.normal(4, 7, 5)
    expected = defined(reference.edges_of(graph), x.tolist())[1]
    assert smoothness(graph, size * x)[1].item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("shape", [(6, 2), (8, 2), (7,)])
def test_features_must_have_a_row_for_every_node(shape, reference):
    with pytest.raises(DataError, match="a row for each of the 7 nodes"):
        smoothness(reference.small_graph(), torch.ones(shape))


def test_a_graph_with_two_kinds_of_nodes_is_refused():
    graph = dgl.create_block(([0, 1], [0, 1]), num_src_nodes=2, num_dst_nodes=2)
    with pytest.raises(DataError, match=r"one kind of nodes|a row for each"):
        smoothness(graph, torch.ones(2, 2))
