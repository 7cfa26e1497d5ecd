"""LipschitzNorm of dot products: the formula, its gradient, and every size of features from 1e-30 to 1e30."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scores import DTYPES, SIZES, gradients

from lipgnn.errors import UsageError
from lipgnn.norms import DotProductLipschitzNorm

QUERY_NORMS = ["node", "graph"]


def dot_formula(edges, query, key, value, kappa: float, query_norm: str) -> torch.Tensor:
    rows = []
    for h, (j, i) in itertools.product(range(query.shape[1]), edges):
        u = (query[i, h] if query_norm == "node" else query[:, h]).norm()
        v = torch.stack([key[k, h].norm() for k, target in edges if target == i]).max()
        w = torch.stack([value[k, h].norm() for k, target in edges if target == i]).max()
        rows.append(query[i, h] @ key[j, h] / (kappa * torch.stack([u * v, u * w, v * w]).max()))
    return torch.stack(rows).view(query.shape[1], len(edges)).t().unsqueeze(-1)


@settings(max_examples=40, deadline=None)
@given(
    data=st.data(),
    complete=st.sampled_from(["loops", "entered"]),
    kappa=st.sampled_from([0.1, 1.0]),
    query_norm=st.sampled_from(QUERY_NORMS),
    sizes=st.permutations([0.1, 1.0, 10.0]),
)
def test_dot_product_scores_are_divided_by_the_largest_of_three_products(
    data, complete, kappa, query_norm, sizes, reference
):
    graph = data.draw(reference.graphs(complete=complete))
    qkv = [size * reference.normal(seed, graph.num_nodes(), 3, 2) for seed, size in enumerate(sizes)]
    scores = DotProductLipschitzNorm(kappa=kappa, query_norm=query_norm)(graph, *qkv)
    expected = reference.dot_scores(reference.edges_of(graph), *(x.numpy() for x in qkv), kappa, query_norm)
    assert scores.shape == (graph.num_edges(), 3, 1)
    np.testing.assert_allclose(scores.squeeze(-1), expected, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(
    data=st.data(),
    kappa=st.sampled_from([0.1, 1.0]),
    query_norm=st.sampled_from(QUERY_NORMS),
    sizes=st.permutations([0.1, 1.0, 10.0]),
)
def test_of_shared_queries_and_keys_the_vectors_count_whose_products_the_scores_are(
    data, kappa, query_norm, sizes, reference
):
    graph = data.draw(reference.graphs(complete="entered"))
    nodes, mixing = graph.num_nodes(), reference.normal(4, 3, 5)
    mixing[0, 1:3] = 0
    query, key = (size * reference.normal(seed, nodes, 5) for seed, size in enumerate(sizes[:2]))
    value = sizes[2] * reference.normal(3, nodes, 3, 2)
    scores = DotProductLipschitzNorm(kappa=kappa, query_norm=query_norm)(graph, query, key, value, mixing)
    arrays = [x.numpy() for x in (query, key, mixing, value)]
    expected = reference.shared_scores(reference.edges_of(graph), *arrays, kappa, query_norm)
    assert scores.shape == (graph.num_edges(), 3, 1)
    np.testing.assert_allclose(scores.squeeze(-1), expected, atol=1e-12)


@pytest.mark.parametrize("query_norm", QUERY_NORMS)
@pytest.mark.parametrize("sizes", list(itertools.permutations([0.1, 1.0, 10.0])))
def test_the_gradient_flows_through_the_dot_product_divisor(query_norm, sizes, reference):
    graph = reference.small_graph()
    qkv = [(size * reference.normal(seed, 7, 2, 3)).requires_grad_() for seed, size in enumerate(sizes)]
    actual = gradients(DotProductLipschitzNorm(kappa=0.5, query_norm=query_norm)(graph, *qkv), *qkv)
    expected = gradients(dot_formula(reference.edges_of(graph), *qkv, 0.5, query_norm), *qkv)
    torch.testing.assert_close(actual, expected, atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize("query_norm", QUERY_NORMS)
@pytest.mark.parametrize("sizes", [(1.0, 1.0, 0.1), (1.0, 0.1, 1.0), (0.1, 1.0, 1.0)])  # uv, uw, vw is largest
def test_gradcheck_dot_product(sizes, query_norm, reference):
    graph = reference.small_graph()
    qkv = tuple((size * reference.normal(seed, 7, 2, 2)).requires_grad_() for seed, size in enumerate(sizes))
    norm = DotProductLipschitzNorm(query_norm=query_norm)
    assert torch.autograd.gradcheck(lambda *qkv: norm(graph, *qkv), qkv)


@pytest.mark.parametrize("query_norm", QUERY_NORMS)
def test_ties_between_the_products_share_one_gradient(query_norm, reference):
    graph = reference.small_graph()
    unit = [
        torch.nn.functional.normalize(reference.normal(seed, 7, 2, 2), dim=-1).requires_grad_() for seed in range(3)
    ]
    scores = DotProductLipschitzNorm(query_norm=query_norm)(graph, *unit)
    all_gradients = gradients(scores, *unit)
    euler = sum((gradient * x).sum(dim=(0, 2)) for gradient, x in zip(all_gradients, unit, strict=True))
    assert all(gradient.isfinite().all() for gradient in all_gradients)
    torch.testing.assert_close(euler, torch.zeros(2).double(), atol=1e-12, rtol=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("query_norm", QUERY_NORMS)
@pytest.mark.parametrize("zeros", [c for n in (1, 2, 3) for c in itertools.combinations(range(3), n)])
@pytest.mark.parametrize("rows", [[6], slice(None)], ids=["one row", "all rows"])
def test_dot_product_zeros_give_finite_scores_and_gradients(rows, zeros, query_norm, dtype, reference):
    graph = reference.small_graph()
    qkv = [reference.normal(seed, 7, 2, 3, dtype=dtype) for seed in range(3)]
    for position in zeros:
        qkv[position][rows] = 0
    for x in qkv:
        x.requires_grad_()
    scores = DotProductLipschitzNorm(query_norm=query_norm)(graph, *qkv)
    assert scores.isfinite().all() and scores.abs().max() <= 1 + 1e-6
    assert all(gradient.isfinite().all() for gradient in gradients(scores, *qkv))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("query_norm", QUERY_NORMS)
@pytest.mark.parametrize("size", SIZES)
def test_dot_product_scores_and_gradients_at_any_size(size, query_norm, dtype, reference):
    graph, norm = reference.small_graph(), DotProductLipschitzNorm(query_norm=query_norm)
    results = []
    for factor in (1.0, size):
        qkv = [(reference.normal(seed, 7, 2, 3, dtype=dtype) * factor).requires_grad_() for seed in range(3)]
        scores = norm(graph, *qkv)
        results.append((scores, *(gradient * factor for gradient in gradients(scores, *qkv))))
    torch.testing.assert_close(*results, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("query_norm", QUERY_NORMS)
@pytest.mark.parametrize("sizes", list(itertools.product([1e-30, 1.0, 1e30], repeat=3)))
def test_dot_product_scores_of_very_different_sizes(sizes, query_norm, dtype, reference):
    graph = reference.small_graph()
    qkv = [(reference.normal(seed, 7, 2, 3, dtype=dtype) * size).requires_grad_() for seed, size in enumerate(sizes)]
    scores = DotProductLipschitzNorm(query_norm=query_norm)(graph, *qkv)
    arrays = (x.detach().double().numpy() for x in qkv)
    expected = reference.dot_scores(reference.edges_of(graph), *arrays, 1.0, query_norm)
    np.testing.assert_allclose(scores.detach().squeeze(-1), expected, atol=1e-6)
    assert all(gradient.isfinite().all() for gradient in gradients(scores, *qkv))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("query_norm", QUERY_NORMS)
def test_dot_product_scores_of_rows_of_very_different_sizes(query_norm, dtype, reference):
    graph = reference.small_graph()
    sizes = torch.tensor([1e-30, 1e30, 1.0, 0.0, 1e-15, 1e15, 1e-30], dtype=dtype).view(7, 1, 1)
    qkv = [(sizes * reference.normal(seed, 7, 2, 3, dtype=dtype)).requires_grad_() for seed in range(3)]
    scores = DotProductLipschitzNorm(query_norm=query_norm)(graph, *qkv)
    arrays = (x.detach().double().numpy() for x in qkv)
    expected = reference.dot_scores(reference.edges_of(graph), *arrays, 1.0, query_norm)
    np.testing.assert_allclose(scores.detach().squeeze(-1), expected, atol=1e-6)
    assert all(gradient.isfinite().all() for gradient in gradients(scores, *qkv))


@pytest.mark.parametrize("query_norm", QUERY_NORMS)
def test_heads_of_the_dot_product_do_not_see_each_other(query_norm, reference):
    graph, norm = reference.small_graph(), DotProductLipschitzNorm(query_norm=query_norm)
    qkv = [reference.normal(seed, 7, 3, 2) for seed in range(3)]
    before = norm(graph, *qkv)
    for x, factor in zip(qkv, (100, -7, 0), strict=True):
        x[:, 1] *= factor
    after = norm(graph, *qkv)
    assert torch.equal(before[:, [0, 2]], after[:, [0, 2]])
    assert not torch.allclose(before[:, 1], after[:, 1])


def test_an_unknown_query_norm_lists_the_valid_ones():
    with pytest.raises(UsageError, match="Unknown query_norm 'edges'") as caught:
        DotProductLipschitzNorm(query_norm="edges")
    assert caught.value.hint == "Valid: 'node', 'graph'."


def test_the_bound_of_a_node_and_what_all_share():
    degrees = torch.tensor([1.0, 4.0], dtype=torch.float64)
    node, graph = (DotProductLipschitzNorm(kappa=2.0, query_norm=name) for name in QUERY_NORMS)
    half = math.exp(0.5)
    assert node.node_bound(degrees).tolist() == pytest.approx((half + math.sqrt(2), half / 2 + math.sqrt(2)))
    assert graph.node_bound(degrees).tolist() == pytest.approx((half + math.sqrt(0.5), half / 2 + math.sqrt(0.5)))
    assert (node.shared_bound, graph.shared_bound) == (0.0, pytest.approx(math.sqrt(0.5)))


@pytest.mark.parametrize("kappa", [0, -1.0, math.inf, math.nan])
def test_kappa_must_be_positive_and_finite(kappa):
    with pytest.raises(UsageError, match=f"kappa must be a positive number, got {kappa!r}"):
        DotProductLipschitzNorm(kappa=kappa)


def test_the_printed_form_names_the_settings():
    assert repr(DotProductLipschitzNorm()) == "DotProductLipschitzNorm(kappa=1.0, query_norm='node')"
