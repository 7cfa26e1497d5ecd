"""LipschitzNorm: the formula, its gradient, and every size of features from 1e-30 to 1e30."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scores import DTYPES, SIZES, additive, gradients

from lipgnn.errors import UsageError
from lipgnn.norms import LipschitzNorm


def additive_formula(edges, z: torch.Tensor, attn: torch.Tensor, kappa: float) -> torch.Tensor:
    """The same, edge by edge and head by head as the docstring has it, for autograd to differentiate."""
    width, rows = z.shape[-1], []
    for h, (j, i) in itertools.product(range(z.shape[1]), edges):
        a_l, a_r = attn[0, h, :width], attn[0, h, width:]
        longest = torch.stack([z[k, h].square().sum() for k, target in edges if target == i]).max()
        divisor = kappa * attn[0, h].norm() * (longest + z[i, h].square().sum()).sqrt()
        rows.append((a_l @ z[j, h] + a_r @ z[i, h]) / divisor)
    return torch.stack(rows).view(z.shape[1], len(edges)).t().unsqueeze(-1)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), complete=st.sampled_from(["loops", "entered"]), kappa=st.sampled_from([0.1, 1.0, 4.0]))
def test_additive_scores_are_divided_as_the_formula_says(data, complete, kappa, reference):
    graph = data.draw(reference.graphs(complete=complete))
    z, attn = reference.normal(1, graph.num_nodes(), 3, 2), reference.normal(2, 1, 3, 4)
    scores = additive(LipschitzNorm(kappa=kappa), graph, z, attn)
    expected = reference.additive_scores(
        reference.edges_of(graph), z.numpy(), attn[0, :, :2].numpy(), attn[0, :, 2:].numpy(), kappa
    )
    assert scores.shape == (graph.num_edges(), 3, 1)
    np.testing.assert_allclose(scores.squeeze(-1), expected, atol=1e-12)


def test_a_worked_example(reference):
    # 0 → 2 ← 1 with lengths 5, 1 and, at the target, 12: divisor κ · ‖a‖ · 13.
    graph = reference.build([(0, 2), (1, 2)], nodes=3)
    z = torch.tensor([[3.0, 4.0], [1.0, 0.0], [0.0, 12.0]]).view(3, 1, 2)
    attn = torch.tensor([1.0, 0.0, 0.0, 2.0]).view(1, 1, 4)
    scores = additive(LipschitzNorm(kappa=2.0), graph, z, attn).flatten()
    np.testing.assert_allclose(scores, np.array([3 + 24, 1 + 24]) / (2 * math.sqrt(5) * 13), rtol=1e-6)


def test_the_gradient_flows_through_the_additive_divisor(reference):
    graph = reference.small_graph()
    z = reference.normal(1, 7, 2, 3).requires_grad_()
    attn = reference.normal(2, 1, 2, 6).requires_grad_()
    actual = gradients(additive(LipschitzNorm(), graph, z, attn), z, attn)
    expected = gradients(additive_formula(reference.edges_of(graph), z, attn, 4.0), z, attn)
    torch.testing.assert_close(actual, expected, atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize("zero_rows", [(), (2,), (0, 5)])
def test_gradcheck_additive(zero_rows, reference):
    # A zero row is a smooth point as long as its neighbourhood is not all zero.
    graph = reference.small_graph()
    z = reference.normal(1, 7, 2, 2)
    z[list(zero_rows)] = 0
    attn = reference.normal(2, 1, 2, 4).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda z, attn: additive(LipschitzNorm(), graph, z, attn), (z.requires_grad_(), attn)
    )


def test_ties_in_the_maximum_share_one_gradient(reference):
    """Scores do not change with the size of all features, so z·∂t̂/∂z = 0, at ties only if each counts once."""
    graph = reference.small_graph()  # with a doubled edge, too
    z = torch.nn.functional.normalize(reference.normal(1, 7, 2, 2), dim=-1)
    z[3] = z[2]
    z.requires_grad_()
    attn = reference.normal(2, 1, 2, 4)
    scores = additive(LipschitzNorm(), graph, z, attn)
    torch.testing.assert_close(scores, additive_formula(reference.edges_of(graph), z, attn, 4.0))
    (gradient,) = gradients(scores, z)
    assert gradient.abs().max() > 0.01
    torch.testing.assert_close((gradient * z).sum(dim=(0, 2)), torch.zeros(2).double(), atol=1e-12, rtol=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("zero", ["all features", "one row", "one head", "attention vector", "everything"])
def test_additive_zeros_give_finite_scores_and_gradients(zero, dtype, reference):
    graph = reference.small_graph()
    z, attn = reference.normal(1, 7, 2, 3, dtype=dtype), reference.normal(2, 1, 2, 6, dtype=dtype)
    if zero in ("all features", "everything"):
        z.zero_()
    if zero in ("attention vector", "everything"):
        attn.zero_()
    if zero == "one row":
        z[6] = 0  # node 6 has no neighbour but itself
    if zero == "one head":
        z[:, 1], attn[:, 1] = 0, 0
    z.requires_grad_(), attn.requires_grad_()
    scores = additive(LipschitzNorm(), graph, z, attn)
    assert scores.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in gradients(scores, z, attn))
    at_zero = {"one row": scores[graph.edges()[1] == 6], "one head": scores[:, 1]}.get(zero, scores)
    assert not at_zero.any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_additive_scores_and_gradients_at_any_size(size, dtype, reference):
    """The same scores as at size 1, and gradients by z smaller by the size."""
    graph = reference.small_graph()
    attn = reference.normal(2, 1, 2, 6, dtype=dtype).requires_grad_()
    results = []
    for factor in (1.0, size):
        z = (reference.normal(1, 7, 2, 3, dtype=dtype) * factor).requires_grad_()
        scores = additive(LipschitzNorm(), graph, z, attn)
        by_z, by_attn = gradients(scores, z, attn)
        results.append((scores, by_z * factor, by_attn))
    torch.testing.assert_close(*results, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_additive_scores_with_an_attention_vector_of_any_size(size, dtype, reference):
    graph, z = reference.small_graph(), reference.normal(1, 7, 2, 3, dtype=dtype).requires_grad_()
    results = []
    for factor in (1.0, size):
        attn = (reference.normal(2, 1, 2, 6, dtype=dtype) * factor).requires_grad_()
        scores = additive(LipschitzNorm(), graph, z, attn)
        by_z, by_attn = gradients(scores, z, attn)
        results.append((scores, by_z, by_attn * factor))
    torch.testing.assert_close(*results, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_additive_scores_of_rows_of_very_different_sizes(dtype, reference):
    graph = reference.small_graph()
    sizes = torch.tensor([1e-30, 1e30, 1.0, 0.0, 1e-15, 1e15, 1e-30], dtype=dtype).view(7, 1, 1)
    z = (sizes * reference.normal(1, 7, 2, 3, dtype=dtype)).requires_grad_()
    attn = reference.normal(2, 1, 2, 6, dtype=dtype).requires_grad_()
    scores = additive(LipschitzNorm(), graph, z, attn)
    vectors = attn[0].detach().double().numpy()
    expected = reference.additive_scores(
        reference.edges_of(graph), z.detach().double().numpy(), vectors[:, :3], vectors[:, 3:], 4.0
    )
    np.testing.assert_allclose(scores.detach().squeeze(-1), expected, atol=1e-6)
    assert all(gradient.isfinite().all() for gradient in gradients(scores, z, attn))


def test_heads_do_not_see_each_other(reference):
    graph = reference.small_graph()
    z, attn = reference.normal(1, 7, 3, 2), reference.normal(2, 1, 3, 4)
    before = additive(LipschitzNorm(), graph, z, attn)
    z[:, 1] *= 100
    attn[:, 1] *= -7
    z[:, 2] = 0
    after = additive(LipschitzNorm(), graph, z, attn)
    assert torch.equal(before[:, 0], after[:, 0])
    assert not torch.allclose(before[:, 2], after[:, 2])


def test_the_bound_of_a_node():
    degrees = torch.tensor([1.0, 4.0], dtype=torch.float64)
    quarter = math.exp(0.25) + math.sqrt(2) / 2, math.exp(0.25) / 2 + math.sqrt(2) / 2
    assert LipschitzNorm(kappa=4.0).node_bound(degrees).tolist() == pytest.approx(quarter)


@pytest.mark.parametrize("kappa", [0, -1.0, math.inf, math.nan])
def test_kappa_must_be_positive_and_finite(kappa):
    with pytest.raises(UsageError, match=f"kappa must be a positive number, got {kappa!r}"):
        LipschitzNorm(kappa=kappa)


def test_the_printed_form_names_the_settings():
    assert repr(LipschitzNorm(kappa=2)) == "LipschitzNorm(kappa=2.0, per_head=True)"
