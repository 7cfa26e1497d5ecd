"""Every measurement against its definition written as loops in numpy, on values known by hand, and where it ends."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.errors import UsageError
from lipgnn.kernels import fused
from lipgnn.measures import features as measures
from lipgnn.measures.features import (
    attention_entropy,
    composite_norm,
    dirichlet_energy,
    effective_rank,
    length,
    mean_average_distance,
    numerical_rank,
    rank_one_residual,
    residual,
    saturated,
    similarity,
    singular_values,
)
from lipgnn.nn.spread import spread_of

ONE = torch.zeros(7, dtype=torch.int64)
TWO = torch.tensor([0, 0, 0, 1, 1, 1, 1])


def cosine(a, b):
    return sum(p * q for p, q in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)


def test_similarity_is_the_distance_to_the_mean_row(reference):
    x = reference.normal(0, 7, 3)
    rows = x.numpy()
    mean = sum(rows) / 7
    assert similarity(x).item() == pytest.approx(math.sqrt(sum(sum((row - mean) ** 2) for row in rows)))
    assert length(x).item() == pytest.approx(math.sqrt(sum(value**2 for row in rows for value in row)))


@pytest.mark.parametrize("loops", [True, False])
def test_dirichlet_energy_is_the_sum_over_edges(loops, reference):
    graph, x = reference.small_graph(loops=loops), reference.normal(0, 7, 3)
    edges = reference.edges_of(graph)
    # A node that no edge enters is not divided.
    root = [math.sqrt(max(1, sum(target == i for _, target in edges))) for i in range(7)]
    rows = x.numpy()
    expected = sum(sum((rows[i] / root[i] - rows[j] / root[j]) ** 2) for j, i in edges) / 2
    assert dirichlet_energy(graph, x).item() == pytest.approx(expected)


def test_dirichlet_energy_is_the_quadratic_form_of_the_laplacian(reference):
    """tr(Xᵀ(I − D^-½AD^-½)X) on an undirected graph; zero for D^½1 alone."""
    pairs = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    edges = pairs + [(j, i) for i, j in pairs] + [(i, i) for i in range(4)]
    graph, x = reference.build(edges, nodes=4), reference.normal(0, 4, 3)
    adjacency = np.zeros((4, 4))
    for j, i in edges:
        adjacency[i, j] += 1
    degrees = adjacency.sum(axis=1)
    laplacian = np.eye(4) - adjacency / np.sqrt(np.outer(degrees, degrees))
    assert dirichlet_energy(graph, x).item() == pytest.approx(np.trace(x.numpy().T @ laplacian @ x.numpy()))
    assert dirichlet_energy(graph, torch.from_numpy(np.sqrt(degrees)).view(4, 1)) < 1e-30


def test_mean_average_distance_is_the_mean_over_edges_that_say_something(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    x[3] = 0
    rows = x.tolist()
    found = [1 - cosine(rows[i], rows[j]) for j, i in reference.edges_of(graph) if i != j and 3 not in (i, j)]
    assert len(found) == 7
    assert mean_average_distance(graph, x).item() == pytest.approx(sum(found) / 7)


def test_distances_survive_where_a_difference_of_cosines_would_not(reference):
    """Two rows at an angle of 1e-10 have 1 − cos = 5e-21, far below what float64 has beside one."""
    graph = reference.build([(0, 1)], nodes=2)
    x = torch.tensor([[1.0, 0.0], [1.0, 1e-10]], dtype=torch.float64)
    assert mean_average_distance(graph, x).item() == pytest.approx(5e-21)
    assert mean_average_distance(graph, 1e-200 * x).item() == pytest.approx(5e-21)


def test_without_an_edge_to_measure_there_is_no_distance(reference):
    loops = reference.build([(0, 0), (1, 1)], nodes=2)
    assert mean_average_distance(loops, torch.ones(2, 2)).isnan()
    assert mean_average_distance(reference.build([(0, 1)], nodes=2), torch.zeros(2, 2)).isnan()
    assert dirichlet_energy(loops, torch.ones(2, 2)) == 0
    assert dirichlet_energy(reference.build([], nodes=2), torch.ones(2, 2)) == 0


def test_pieces_of_edges_add_up_to_all(monkeypatch, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    whole = dirichlet_energy(graph, x), mean_average_distance(graph, x)
    monkeypatch.setattr(measures, "_PIECE", 3)
    assert (dirichlet_energy(graph, x), mean_average_distance(graph, x)) == whole


@pytest.mark.parametrize("shape", [(7, 3), (3, 7)])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-14), (torch.float32, 1e-7)])
def test_singular_values_are_those_of_numpy(shape, dtype, tolerance, reference):
    x = reference.normal(0, *shape, dtype=dtype)
    expected = np.linalg.svd(x.double().numpy(), compute_uv=False)
    assert singular_values(x).dtype == torch.float64
    assert np.abs(singular_values(x).numpy() - expected).max() <= tolerance * expected[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ranks_of_matrices_of_known_rank(dtype, reference):
    """Three orthogonal directions of equal size have rank three in either sense, however wide the matrix is."""
    basis = torch.linalg.qr(reference.normal(0, 40, 3)).Q
    directions = torch.linalg.qr(reference.normal(1, 8, 3)).Q
    x = (basis @ directions.T).to(dtype)
    values = singular_values(x)
    assert numerical_rank(values, x) == 3
    assert effective_rank(values).item() == pytest.approx(3, abs=1e-4)
    one = torch.ones(40, 8, dtype=dtype)
    assert numerical_rank(singular_values(one), one) == 1
    assert effective_rank(singular_values(one)).item() == pytest.approx(1, abs=1e-4)


def test_effective_rank_is_the_exponential_of_the_entropy():
    assert effective_rank(torch.tensor([3.0, 1.0, 0.0]).double()).item() == pytest.approx(4 / 3**0.75)


def test_ranks_of_nothing():
    zero = torch.zeros(4, 2)
    assert numerical_rank(singular_values(zero), zero) == 0
    assert effective_rank(singular_values(zero)).isnan()


def test_composite_norm_by_hand():
    """R1: columns sum to 4 and 6, rows to 3 and 7; with the square root."""
    assert composite_norm(torch.tensor([[1.0, -2.0], [-3.0, 4.0]])).item() == pytest.approx(math.sqrt(6 * 7))


@given(st.floats(-1e100, 1e100).filter(lambda scale: abs(scale) > 1e-100))
@settings(max_examples=20, deadline=None)
def test_composite_norm_is_homogeneous(scale):
    """R1."""
    m = torch.tensor([[1.0, -2.0], [-3.0, 4.0]], dtype=torch.float64)
    assert composite_norm(scale * m).item() == pytest.approx(abs(scale) * composite_norm(m).item())


@pytest.mark.parametrize(
    ("center", "reference_center"),
    [("mean", np.mean), ("median", np.median), ("midrange", lambda rows, axis: (rows.min(axis) + rows.max(axis)) / 2)],
)
@pytest.mark.parametrize("components", [ONE, TWO])
def test_residual_is_centered_within_every_component(center, reference_center, components, reference):
    """R1: the center of the residual is zero, a second residual changes nothing, nor does a row added to all."""
    x = reference.normal(0, 7, 3)
    found = residual(x, components, center)
    for label in components.unique():
        rows = x[components == label].numpy()
        expected = torch.from_numpy(rows - reference_center(rows, axis=0))
        torch.testing.assert_close(found[components == label], expected, rtol=0, atol=1e-15)
    torch.testing.assert_close(residual(found, components, center), found, rtol=0, atol=1e-15)
    shift = 3 * reference.normal(1, 2, 3)[components]
    torch.testing.assert_close(residual(x + shift, components, center), found, rtol=0, atol=1e-14)


def test_residual_knows_its_centers():
    with pytest.raises(UsageError, match="center"):
        residual(torch.ones(2, 2), torch.zeros(2, dtype=torch.int64), "mode")


def test_rank_one_residual_is_zero_for_one_row_a_component_and_free_of_scale(reference):
    rows = reference.normal(0, 2, 3)[TWO]
    assert rank_one_residual(rows, TWO) < 1e-15
    assert rank_one_residual(rows, ONE) > 0.1
    x = reference.normal(1, 7, 3)
    centered = x - x.mean(dim=0)
    assert rank_one_residual(centered, ONE).item() == pytest.approx(1)
    assert rank_one_residual(1e-150 * x, ONE).item() == pytest.approx(rank_one_residual(x, ONE).item())


def test_entropy_is_one_when_uniform_and_zero_when_certain(reference):
    graph = reference.build([(0, 0), (1, 0), (2, 0), (0, 1)], nodes=3)
    uniform = torch.tensor([[1 / 3], [1 / 3], [1 / 3], [1.0]])
    certain = torch.tensor([[1.0], [0.0], [0.0], [1.0]])
    half = torch.tensor([[0.5], [0.5], [0.0], [1.0]])
    assert attention_entropy(graph, spread_of(graph, uniform)).item() == pytest.approx(1)
    assert attention_entropy(graph, spread_of(graph, certain)) == 0
    assert attention_entropy(graph, spread_of(graph, half)).item() == pytest.approx(math.log(2) / math.log(3))
    both = torch.cat([uniform, certain], dim=1)
    assert attention_entropy(graph, spread_of(graph, both)).item() == pytest.approx(1 / 2)


def test_saturation_counts_pairs_of_node_and_head_with_a_choice(reference):
    """Nodes 0 and 1 have a choice, node 2 has one in-edge and node 3 none."""
    graph = reference.build([(0, 0), (1, 0), (0, 1), (1, 1), (2, 2)], nodes=4)
    weights = torch.tensor([[0.995, 0.5], [0.005, 0.5], [0.98, 1.0], [0.02, 0.0], [1.0, 1.0]])
    assert saturated(graph, spread_of(graph, weights)) == 2 / 4
    assert saturated(graph, spread_of(graph, weights), share=0.9) == 3 / 4


def test_attention_over_single_neighbours_says_nothing(reference):
    graph = reference.build([(0, 0), (1, 1)], nodes=3)
    assert attention_entropy(graph, spread_of(graph, torch.ones(2, 1))).isnan()
    assert saturated(graph, spread_of(graph, torch.ones(2, 1))).isnan()


@pytest.fixture(params=["compiled", "torch"])
def way(request, monkeypatch):
    """By the compiled passes, and as where there are none."""
    if request.param == "torch":
        monkeypatch.setattr(fused, "obstacle", lambda device: "not today")
    elif reason := fused.obstacle(torch.device("cpu")):
        pytest.skip(reason)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_all_of_rows_at_once_are_the_four(way, dtype, reference):
    x, less = (reference.normal(seed, 7, 5, dtype=dtype) for seed in (1, 2))
    exact = {"rtol": 1e-12, "atol": 0}
    for taken_off, m in ((None, x.double()), (less, x.double() - less.double())):
        for components in (TWO, ONE, None):
            rows = measures.rows_of(x, components, taken_off)
            torch.testing.assert_close(rows.length, length(m), **exact)
            torch.testing.assert_close(rows.similarity, similarity(m), **exact)
            torch.testing.assert_close(rows.size, composite_norm(m), **exact)
            rest = residual(m, ONE if components is None else components)
            torch.testing.assert_close(rows.rest, composite_norm(rest), **exact)


def all_of(graph, x):
    """Every measurement of features, and of weights that are as broken as they are."""
    values = singular_values(x)
    weights = x[:1, :1].expand(graph.num_edges(), 2)
    return {
        "length": length(x),
        "similarity": similarity(x),
        "dirichlet": dirichlet_energy(graph, x),
        "distance": mean_average_distance(graph, x),
        "effective rank": effective_rank(values),
        "rank": numerical_rank(values, x),
        "composite": composite_norm(x),
        "residual": rank_one_residual(x, ONE),
        "entropy": attention_entropy(graph, spread_of(graph, weights)),
        "saturated": saturated(graph, spread_of(graph, weights)),
        "energy at once": measures.smoothness(graph, x)[0],
        "distance at once": measures.smoothness(graph, x)[1],
        **measures.rows_of(x, ONE)._asdict(),
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_marked_and_nothing_fails(way, broken, dtype, reference):
    x = reference.normal(0, 7, 3, dtype=dtype)
    x[0, 0] = broken
    for name, value in all_of(reference.small_graph(), x).items():
        assert value.shape == () and value.dtype == torch.float64, name
        assert not value.isfinite(), name


def test_the_largest_features_of_float32_do_not_overflow(way, reference):
    x = reference.normal(0, 7, 3, dtype=torch.float32)
    large = x / x.abs().max() * torch.finfo(torch.float32).max
    found = all_of(reference.small_graph(), large)
    assert all(value.isfinite() for name, value in found.items() if name not in ("entropy", "saturated"))


def test_no_tensor_is_made_on_a_default_device(reference):
    """With that device set to one without data, anything made there would fail or have no value."""
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    with torch.device("meta"):
        found = all_of(graph, x.float()) | all_of(graph, x)
        centered = [residual(x, TWO, center) for center in measures.CENTERS]
    assert all(value.device.type == "cpu" for value in (*found.values(), *centered))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_energy_and_distance_at_once_are_the_two(way, reference, dtype):
    graph = reference.small_graph()
    x = reference.normal(3, 7, 5).to(dtype)
    # A row of zeros has no direction, and two neighbours that nearly are one are no accident of rounding.
    x[3] = 0
    x[1] = x[0] + 1e-3 * x[1]
    energy, distance = measures.smoothness(graph, x)
    torch.testing.assert_close(energy, dirichlet_energy(graph, x), rtol=1e-12, atol=0)
    torch.testing.assert_close(distance, mean_average_distance(graph, x), rtol=1e-12, atol=0)


def test_of_rows_that_are_one_energy_and_distance_are_as_small_as_float32_has_them(reference):
    graph = reference.build([(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)], nodes=3)
    x = torch.ones(3, 64) + torch.tensor([[0.0], [1e-7], [0.0]]) * torch.arange(64) / 64
    energy, distance = measures.smoothness(graph, x)
    assert 0 <= distance < 1e-12 and 0 <= energy < 1e-12 * 64
    assert all(value.isnan() for value in measures.smoothness(graph, x * torch.nan))
