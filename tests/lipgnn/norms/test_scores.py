"""LipschitzNorm in both forms: the formula, its gradient, and every size of features from 1e-30 to 1e30."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.errors import UsageError
from lipgnn.norms import DotProductLipschitzNorm, LipschitzNorm, SourceLipschitzNorm
from lipgnn.norms.scores import safe_length

QUERY_NORMS = ["node", "graph"]
DTYPES = [torch.float32, torch.float64]
SIZES = [1e-30, 1e-15, 1e15, 1e30]


def additive(norm: LipschitzNorm, graph, z: torch.Tensor, attn: torch.Tensor) -> torch.Tensor:
    """The norm on t_ij = a_l·z_j + a_r·z_i, (E, H, 1)."""
    (sources, targets), width = graph.edges(), z.shape[-1]
    raw = (z[sources] * attn[..., :width]).sum(-1, keepdim=True) + (z[targets] * attn[..., width:]).sum(
        -1, keepdim=True
    )
    return norm(graph, raw, z, attn)


def additive_formula(edges, z: torch.Tensor, attn: torch.Tensor, kappa: float) -> torch.Tensor:
    """The same, edge by edge and head by head as the docstring has it, for autograd to differentiate."""
    width, rows = z.shape[-1], []
    for h, (j, i) in itertools.product(range(z.shape[1]), edges):
        a_l, a_r = attn[0, h, :width], attn[0, h, width:]
        longest = torch.stack([z[k, h].square().sum() for k, target in edges if target == i]).max()
        divisor = kappa * attn[0, h].norm() * (longest + z[i, h].square().sum()).sqrt()
        rows.append((a_l @ z[j, h] + a_r @ z[i, h]) / divisor)
    return torch.stack(rows).view(z.shape[1], len(edges)).t().unsqueeze(-1)


def dot_formula(edges, query, key, value, kappa: float, query_norm: str) -> torch.Tensor:
    rows = []
    for h, (j, i) in itertools.product(range(query.shape[1]), edges):
        u = (query[i, h] if query_norm == "node" else query[:, h]).norm()
        v = torch.stack([key[k, h].norm() for k, target in edges if target == i]).max()
        w = torch.stack([value[k, h].norm() for k, target in edges if target == i]).max()
        rows.append(query[i, h] @ key[j, h] / (kappa * torch.stack([u * v, u * w, v * w]).max()))
    return torch.stack(rows).view(query.shape[1], len(edges)).t().unsqueeze(-1)


def gradients(scores: torch.Tensor, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Gradients of a sum of the scores that weighs every edge and head differently."""
    weights = torch.linspace(-1, 2, scores.numel(), dtype=scores.dtype).view(scores.shape)
    return torch.autograd.grad((weights * scores).sum(), inputs)


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


@pytest.mark.parametrize("query_norm", QUERY_NORMS)
@pytest.mark.parametrize("sizes", list(itertools.permutations([0.1, 1.0, 10.0])))
def test_the_gradient_flows_through_the_dot_product_divisor(query_norm, sizes, reference):
    graph = reference.small_graph()
    qkv = [(size * reference.normal(seed, 7, 2, 3)).requires_grad_() for seed, size in enumerate(sizes)]
    actual = gradients(DotProductLipschitzNorm(kappa=0.5, query_norm=query_norm)(graph, *qkv), *qkv)
    expected = gradients(dot_formula(reference.edges_of(graph), *qkv, 0.5, query_norm), *qkv)
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


@pytest.mark.parametrize("query_norm", QUERY_NORMS)
@pytest.mark.parametrize("sizes", [(1.0, 1.0, 0.1), (1.0, 0.1, 1.0), (0.1, 1.0, 1.0)])  # uv, uw, vw is largest
def test_gradcheck_dot_product(sizes, query_norm, reference):
    graph = reference.small_graph()
    qkv = tuple((size * reference.normal(seed, 7, 2, 2)).requires_grad_() for seed, size in enumerate(sizes))
    norm = DotProductLipschitzNorm(query_norm=query_norm)
    assert torch.autograd.gradcheck(lambda *qkv: norm(graph, *qkv), qkv)


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


@pytest.mark.parametrize("kappa", [0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("kind", [LipschitzNorm, SourceLipschitzNorm, DotProductLipschitzNorm])
def test_kappa_must_be_positive_and_finite(kind, kappa):
    with pytest.raises(UsageError, match=f"kappa must be a positive number, got {kappa!r}"):
        kind(kappa=kappa)


def test_an_unknown_query_norm_lists_the_valid_ones():
    with pytest.raises(UsageError, match="Unknown query_norm 'edges'") as caught:
        DotProductLipschitzNorm(query_norm="edges")
    assert caught.value.hint == "Valid: 'node', 'graph'."


def test_node_bounds():
    degrees = torch.tensor([1.0, 4.0], dtype=torch.float64)
    quarter = math.exp(0.25) + math.sqrt(2) / 2, math.exp(0.25) / 2 + math.sqrt(2) / 2
    assert LipschitzNorm(kappa=4.0).node_bound(degrees).tolist() == pytest.approx(quarter)
    node, graph = (DotProductLipschitzNorm(kappa=2.0, query_norm=name) for name in QUERY_NORMS)
    half = math.exp(0.5)
    assert node.node_bound(degrees).tolist() == pytest.approx((half + math.sqrt(2), half / 2 + math.sqrt(2)))
    assert graph.node_bound(degrees).tolist() == pytest.approx((half + math.sqrt(0.5), half / 2 + math.sqrt(0.5)))
    assert (node.shared_bound, graph.shared_bound) == (0.0, pytest.approx(math.sqrt(0.5)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_safe_length(dtype):
    smallest, largest = torch.finfo(dtype).tiny, torch.finfo(dtype).max / 8
    rows = [[3, 4], [3 * largest, 4 * largest], [3 * smallest, 4 * smallest], [0, 0]]
    x = torch.tensor(rows, dtype=dtype, requires_grad=True)
    length = safe_length(x)
    np.testing.assert_allclose(length.detach().flatten(), [5, 5 * largest, 5 * smallest, 0], rtol=1e-6)
    length.sum().backward()
    np.testing.assert_allclose(x.grad, [[0.6, 0.8]] * 3 + [[0, 0]], rtol=1e-6)


def test_the_printed_form_names_the_settings():
    assert repr(LipschitzNorm(kappa=2)) == "LipschitzNorm(kappa=2.0, per_head=True)"
    assert repr(SourceLipschitzNorm(released=True)) == "SourceLipschitzNorm(kappa=4.0, released=True)"
    assert repr(DotProductLipschitzNorm()) == "DotProductLipschitzNorm(kappa=1.0, query_norm='node')"


def variant_formula(edges, z: np.ndarray, attn: np.ndarray, kappa: float, variant: str) -> np.ndarray:
    """Scores of the variants, edge by edge and head by head, (E, H)."""
    nodes, heads, width = z.shape
    lengths = np.linalg.norm(z, axis=-1)
    longest = np.array([np.max([lengths[j] for j, i in edges if i == node], axis=0) for node in range(nodes)])
    scores = np.empty((len(edges), heads))
    for e, (j, i) in enumerate(edges):
        for h in range(heads):
            raw = attn[h, :width] @ z[j, h] + attn[h, width:] @ z[i, h]
            over_all = variant in ("all-heads", "released")
            attn_length = np.linalg.norm(attn if over_all else attn[h])
            top = longest.ravel()[i] if variant == "released" else longest[i, h]
            own = lengths[i, h] if variant == "all-heads" else lengths[j, h]
            scores[e, h] = raw / (kappa * attn_length * np.sqrt(top**2 + own**2))
    return scores


VARIANTS = {
    "all-heads": LipschitzNorm(kappa=2.0, per_head=False),
    "source": SourceLipschitzNorm(kappa=2.0),
    "released": SourceLipschitzNorm(kappa=2.0, released=True),
}


@settings(max_examples=20, deadline=None)
@given(data=st.data(), variant=st.sampled_from(list(VARIANTS)))
def test_variants_are_what_they_say(data, variant, reference):
    graph = data.draw(reference.graphs(complete="loops"))
    z, attn = reference.normal(1, graph.num_nodes(), 3, 2), reference.normal(2, 1, 3, 4)
    scores = additive(VARIANTS[variant], graph, z, attn).squeeze(-1)
    expected = variant_formula(reference.edges_of(graph), z.numpy(), attn[0].numpy(), 2.0, variant)
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    if variant != "released":
        assert scores.abs().max() <= 1 / 2 + 1e-12


@pytest.mark.parametrize("variant", VARIANTS)
def test_gradcheck_of_the_variants(variant, reference):
    graph, norm = reference.small_graph(), VARIANTS[variant]
    z, attn = reference.normal(1, 7, 2, 2).requires_grad_(), reference.normal(2, 1, 2, 4).requires_grad_()
    assert torch.autograd.gradcheck(lambda z, attn: additive(norm, graph, z, attn), (z, attn))


def test_with_one_head_the_released_code_is_the_source_norm_and_with_several_scores_leave_the_bound(reference):
    graph = reference.small_graph()
    z, attn = reference.normal(1, 7, 1, 2), reference.normal(2, 1, 1, 4)
    released, source = VARIANTS["released"], VARIANTS["source"]
    torch.testing.assert_close(additive(released, graph, z, attn), additive(source, graph, z, attn))
    # Node 6 reads the maximum of node 3, which is tiny here: 4 / (κ ‖a‖ ‖z_6‖) in place of 4 / (κ ‖a‖ √2 ‖z_6‖).
    z, attn = torch.ones(7, 2, 2), torch.ones(1, 2, 4)
    z[[0, 1, 2, 3]] = 1e-6
    attn[0, 1] = 0
    loops = reference.build([(i, i) for i in range(7)], nodes=7)
    assert additive(released, loops, z, attn)[6, 0].item() == pytest.approx(4 / (2 * 2 * math.sqrt(2)))
    assert additive(source, loops, z, attn)[6, 0].item() == pytest.approx(1 / 2)
    assert not hasattr(released, "node_bound") and not hasattr(source, "node_bound")


@pytest.mark.parametrize("variant", VARIANTS)
def test_zeros_are_finite_for_the_variants_too(variant, reference):
    graph, norm = reference.small_graph(), VARIANTS[variant]
    z, attn = torch.zeros(7, 2, 2, requires_grad=True), torch.zeros(1, 2, 4, requires_grad=True)
    scores = additive(norm, graph, z, attn)
    assert torch.equal(scores, torch.zeros_like(scores))
    assert all(gradient.isfinite().all() for gradient in gradients(scores, z, attn))
