"""LipschitzNorm of GATv2's scores: the formula, its gradient, every size of features, and the bound of a node."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scores import DTYPES, SIZES, dynamic, gradients

from lipgnn.errors import UsageError
from lipgnn.nn.softmax import aggregate
from lipgnn.norms import DynamicLipschitzNorm


def formula(edges, key: torch.Tensor, query: torch.Tensor, attn: torch.Tensor, kappa: float) -> torch.Tensor:
    """The same, edge by edge and head by head as the docstring has it, for autograd to differentiate."""
    rows = []
    for h, (j, i) in itertools.product(range(key.shape[1]), edges):
        a, longest = attn[0, h], torch.stack([key[k, h].square().sum() for k, target in edges if target == i]).max()
        divisor = kappa * math.sqrt(2) * a.norm() * (longest + query[i, h].square().sum()).sqrt()
        rows.append(a @ torch.nn.functional.leaky_relu(key[j, h] + query[i, h], 0.2) / divisor)
    return torch.stack(rows).view(key.shape[1], len(edges)).t().unsqueeze(-1)


def inputs(reference, *, nodes: int = 7, heads: int = 2, width: int = 3, dtype: torch.dtype = torch.float64):
    """Keys, queries and attention vectors."""
    shapes = ((nodes, heads, width), (nodes, heads, width), (1, heads, width))
    return [reference.normal(seed, *shape, dtype=dtype) for seed, shape in enumerate(shapes)]


@settings(max_examples=40, deadline=None)
@given(data=st.data(), complete=st.sampled_from(["loops", "entered"]), kappa=st.sampled_from([0.1, 1.0, 4.0]))
def test_scores_are_divided_as_the_formula_says(data, complete, kappa, reference):
    graph = data.draw(reference.graphs(complete=complete))
    key, query, attn = inputs(reference, nodes=graph.num_nodes(), heads=3)
    scores = dynamic(DynamicLipschitzNorm(kappa=kappa), graph, key, query, attn)
    expected = reference.dynamic_scores(reference.edges_of(graph), key.numpy(), query.numpy(), attn[0].numpy(), kappa)
    assert scores.shape == (graph.num_edges(), 3, 1)
    np.testing.assert_allclose(scores.squeeze(-1), expected, atol=1e-12)


def test_a_worked_example(reference):
    # 0 → 2 ← 1 with keys of lengths 5 and 1 and a query of length 12: divisor κ · √2 ‖a‖ · 13.
    graph = reference.build([(0, 2), (1, 2)], nodes=3)
    key = torch.tensor([[3.0, 4.0], [-1.0, 0.0], [9.0, 9.0]]).view(3, 1, 2)
    query = torch.tensor([[7.0, 7.0], [7.0, 7.0], [0.0, 12.0]]).view(3, 1, 2)
    attn = torch.tensor([1.0, 2.0]).view(1, 1, 2)
    scores = dynamic(DynamicLipschitzNorm(kappa=2.0), graph, key, query, attn).flatten()
    np.testing.assert_allclose(scores, np.array([3 + 32, -0.2 + 24]) / (2 * math.sqrt(10) * 13), rtol=1e-6)


def test_the_score_bound_is_attained(reference):
    """a along k_j = q_i, with no negative entry, and k_j the longest: ê = 1/κ, so a smaller divisor would be wrong."""
    graph, row = reference.build([(0, 0)], nodes=1), torch.tensor([3.0, 4.0], dtype=torch.float64).view(1, 1, 2)
    assert dynamic(DynamicLipschitzNorm(kappa=4.0), graph, row, row, 7 * row).item() == pytest.approx(0.25)


def test_the_gradient_flows_through_the_divisor(reference):
    graph = reference.small_graph()
    leaves = [x.requires_grad_() for x in inputs(reference)]
    actual = gradients(dynamic(DynamicLipschitzNorm(), graph, *leaves), *leaves)
    expected = gradients(formula(reference.edges_of(graph), *leaves, 4.0), *leaves)
    torch.testing.assert_close(actual, expected, atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize("zero_rows", [(), (2,), (0, 5)])
def test_gradcheck(zero_rows, reference):
    # A zero row is a smooth point as long as its neighbourhood is not all zero.
    leaves = inputs(reference, width=2)
    leaves[0][list(zero_rows)] = 0
    assert torch.autograd.gradcheck(
        lambda *leaves: dynamic(DynamicLipschitzNorm(), reference.small_graph(), *leaves),
        [x.requires_grad_() for x in leaves],
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("zero", ["keys", "queries", "both", "one row", "attention vector", "everything"])
def test_zeros_give_finite_scores_and_gradients(zero, dtype, reference):
    graph, leaves = reference.small_graph(), inputs(reference, dtype=dtype)
    key, query, attn = leaves
    if zero in ("keys", "both", "everything"):
        key.zero_()
    if zero in ("queries", "both", "everything"):
        query.zero_()
    if zero in ("attention vector", "everything"):
        attn.zero_()
    if zero == "one row":
        key[6] = query[6] = 0  # node 6 has no neighbour but itself
    scores = dynamic(DynamicLipschitzNorm(), graph, *(x.requires_grad_() for x in leaves))
    assert scores.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in gradients(scores, *leaves))
    at_zero = {"one row": scores[graph.edges()[1] == 6], "keys": scores[:0], "queries": scores[:0]}.get(zero, scores)
    assert not at_zero.any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("which", ["features", "attention vector"])
def test_scores_and_gradients_at_any_size(which, size, dtype, reference):
    """The same scores as at size 1, and gradients by what is scaled smaller by the size."""
    results = []
    for factor in (1.0, size):
        factors = (factor, factor, 1.0) if which == "features" else (1.0, 1.0, factor)
        leaves = [(x * f).requires_grad_() for x, f in zip(inputs(reference, dtype=dtype), factors, strict=True)]
        scores = dynamic(DynamicLipschitzNorm(), reference.small_graph(), *leaves)
        found = gradients(scores, *leaves)
        results.append((scores, *(gradient * f for gradient, f in zip(found, factors, strict=True))))
    torch.testing.assert_close(*results, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scores_of_rows_of_very_different_sizes(dtype, reference):
    graph, (key, query, attn) = reference.small_graph(), inputs(reference, dtype=dtype)
    sizes = torch.tensor([1e-30, 1e30, 1.0, 0.0, 1e-15, 1e15, 1e-30], dtype=dtype).view(7, 1, 1)
    leaves = [(sizes * key).requires_grad_(), (sizes.flip(0) * query).requires_grad_(), attn.requires_grad_()]
    scores = dynamic(DynamicLipschitzNorm(), graph, *leaves)
    wide = [x.detach().double().numpy() for x in leaves]
    expected = reference.dynamic_scores(reference.edges_of(graph), *wide[:2], wide[2][0], 4.0)
    np.testing.assert_allclose(scores.detach().squeeze(-1), expected, atol=1e-6)
    assert all(gradient.isfinite().all() for gradient in gradients(scores, *leaves))


def test_heads_do_not_see_each_other(reference):
    graph, (key, query, attn) = reference.small_graph(), inputs(reference, heads=3)
    before = dynamic(DynamicLipschitzNorm(), graph, key, query, attn)
    key[:, 1] *= 100
    attn[:, 1] *= -7
    query[:, 2] = 0
    after = dynamic(DynamicLipschitzNorm(), graph, key, query, attn)
    assert torch.equal(before[:, 0], after[:, 0])
    assert not torch.allclose(before[:, 2], after[:, 2])


def test_the_bound_of_a_node():
    degrees = torch.tensor([1.0, 4.0], dtype=torch.float64)
    quarter = math.exp(0.25) + 0.5, math.exp(0.25) / 2 + 0.5
    assert DynamicLipschitzNorm(kappa=4.0).node_bound(degrees).tolist() == pytest.approx(quarter)
    more = [bound + (math.sqrt(2) - 1) / 2 for bound in quarter]
    assert DynamicLipschitzNorm(kappa=4.0, shared=True).node_bound(degrees).tolist() == pytest.approx(more)


def attention_of_one(reference, key: torch.Tensor, query: torch.Tensor, attn: torch.Tensor, kappa: float | None):
    """What a node makes of n keys (n, D) with its query (D,); by raw scores where κ is None."""
    graph = reference.build([(j, 0) for j in range(len(key))], nodes=len(key))
    rows = torch.cat([query.view(1, 1, -1), query.new_zeros(len(key) - 1, 1, len(query))])
    key, attn = key.unsqueeze(1), attn.view(1, 1, -1)
    norm = DynamicLipschitzNorm(kappa=kappa) if kappa else lambda graph, scores, *_: scores
    scores = dynamic(norm, graph, key, rows, attn)
    return aggregate(graph, scores, key, torch.nn.Identity())[0][0, 0]


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 5),
    width=st.integers(1, 3),
    kappa=st.sampled_from([0.25, 1.0, 4.0]),
    shared=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_the_jacobian_of_a_node_stays_within_its_bound(n, width, kappa, shared, seed, reference):
    """In keys and query together, and in the features that are both, of the node itself and n − 1 others."""
    sizes = 10 ** reference.normal(seed, n + 1, 1)
    rows, attn = sizes * reference.normal(seed + 1, n + 1, width), reference.normal(seed + 2, width)

    def attend(rows: torch.Tensor) -> torch.Tensor:
        return attention_of_one(reference, rows[1:], rows[1] if shared else rows[0], attn, kappa)

    bound = DynamicLipschitzNorm(kappa=kappa, shared=shared).node_bound(torch.tensor([float(n)])).item()
    assert reference.spectral_norm(reference.jacobian(attend, rows)) <= bound


@pytest.mark.parametrize("kappa", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("shared", [True, False])
def test_no_ascent_of_the_jacobian_leaves_the_bound(shared, kappa, reference):
    """Features and attention vector are moved to where the node stretches more and more."""
    rows, attn = reference.normal(3, 4, 2).requires_grad_(), reference.normal(4, 2).requires_grad_()
    optimizer = torch.optim.Adam([rows, attn], lr=0.1)
    bound = DynamicLipschitzNorm(kappa=kappa, shared=shared).node_bound(torch.tensor([3.0])).item()

    def attend(rows: torch.Tensor) -> torch.Tensor:
        return attention_of_one(reference, rows[1:], rows[1] if shared else rows[0], attn, kappa)

    largest = 0.0
    for _ in range(40):
        jacobian = torch.autograd.functional.jacobian(attend, rows, create_graph=True).reshape(2, -1)
        stretched = torch.linalg.matrix_norm(jacobian, 2)
        largest = max(largest, stretched.item())
        optimizer.zero_grad()
        (-stretched).backward()
        optimizer.step()
    assert largest <= bound


@pytest.mark.parametrize(("s", "raw"), [(1e1, 7.106), (1e2, 70.714), (1e3, 707.107)])
def test_raw_scores_stretch_with_the_features_and_normalized_ones_do_not(s, raw, reference):
    """U2 of LipschitzNorm: keys (0, s), (0, −s), a = (1, 0), and a query (1, 0) at which the LeakyReLU is the identity.

    Normalized, the second channel has ½ by the values of either key, and ± s / (2 c) with c → √2 s by the scores.
    """
    rows = torch.tensor([[1, 0], [0, s], [0, -s]], dtype=torch.float64)
    attn = torch.tensor([1.0, 0.0], dtype=torch.float64)
    plain, lip = (
        reference.jacobian(lambda rows, k=kappa: attention_of_one(reference, rows[1:], rows[0], attn, k), rows)
        for kappa in (None, 1.0)
    )
    assert reference.spectral_norm(plain) == pytest.approx(raw, abs=5e-4)
    assert reference.spectral_norm(lip) == pytest.approx(math.sqrt(0.5 + 0.25), rel=0.01)


@pytest.mark.parametrize("kappa", [0, -1.0, math.inf, math.nan])
def test_kappa_must_be_positive_and_finite(kappa):
    with pytest.raises(UsageError, match=f"kappa must be a positive number, got {kappa!r}"):
        DynamicLipschitzNorm(kappa=kappa)


def test_the_printed_form_names_the_settings():
    assert repr(DynamicLipschitzNorm(kappa=2)) == "DynamicLipschitzNorm(kappa=2.0, shared=False)"
