"""SharedHeadsConv: the plain layer at full width, loops over edges always, within its bound (K1-K3, K6, K8, K9)."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.errors import UsageError
from lipgnn.nn import SharedHeadsConv, TransformerConv
from lipgnn.spec.network import NetworkSpec

pytestmark = pytest.mark.usefixtures("each_kernel")

QUERY_NORMS = ["node", "graph"]
NORMS = [None, "lip"]


def loops(reference, conv: SharedHeadsConv, graph, x: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The layer by loops over edges, from its state dict alone: output and attention weights."""
    state, edges = reference.arrays(conv), reference.edges_of(graph)

    def linear(name: str) -> np.ndarray:
        return x.numpy() @ state[f"{name}.weight"].T + state.get(f"{name}.bias", 0.0)

    value = reference.heads(linear("value"), conv.num_heads)
    options = () if conv.norm is None else (conv.norm.kappa, conv.norm.query_norm)
    scores = reference.shared_scores(
        edges, linear("query"), linear("key"), state["mixing"], value, *options, scale=state["scale"]
    )
    out, attention = reference.attend(edges, scores, value)
    return (out if conv.skip is None else out + reference.heads(linear("skip"), conv.num_heads)), attention


def as_plain(conv: TransformerConv, **options) -> SharedHeadsConv:
    """The layer of full width with blocks of ones that has a plain layer's weights."""
    options |= {"skip": conv.skip is not None, "bias": conv.query.bias is not None}
    shared = SharedHeadsConv(
        conv.query.in_features, conv.out_feats, conv.num_heads, mixing_init="block", **options
    ).double()
    shared.load_state_dict(conv.state_dict() | {name: shared.state_dict()[name] for name in ("mixing", "scale")})
    return shared


@settings(max_examples=40, deadline=None)
@given(
    data=st.data(),
    norm=st.sampled_from(NORMS),
    query_norm=st.sampled_from(QUERY_NORMS),
    skip=st.booleans(),
    bias=st.booleans(),
)
def test_k1_at_full_width_with_blocks_of_ones_it_is_the_plain_layer(data, norm, query_norm, skip, bias, reference):
    graph = data.draw(reference.graphs(complete="entered"))
    options = {"norm": norm, "kappa": 0.5, "query_norm": query_norm}
    plain = reference.redraw(TransformerConv(4, 2, 3, skip=skip, bias=bias, **options), seed=1)
    shared = as_plain(plain, **options)
    results = []
    for conv in (plain, shared):
        x = reference.normal(2, graph.num_nodes(), 4).requires_grad_()
        out = conv(graph, x)
        out.sin().sum().backward()
        results.append((out, x.grad))
    for expected, actual in zip(*results, strict=True):
        torch.testing.assert_close(actual, expected, atol=1e-12, rtol=1e-12)
    for name, parameter in plain.named_parameters():
        torch.testing.assert_close(shared.get_parameter(name).grad, parameter.grad, atol=1e-12, rtol=1e-12)
    assert shared.lipschitz_bound(graph) == pytest.approx(plain.lipschitz_bound(graph), rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    data=st.data(),
    norm=st.sampled_from(NORMS),
    query_norm=st.sampled_from(QUERY_NORMS),
    kappa=st.sampled_from([0.25, 1.0]),
    skip=st.booleans(),
    bias=st.booleans(),
    shared_dim=st.integers(1, 7),
)
def test_equals_loops_over_edges(data, norm, query_norm, kappa, skip, bias, shared_dim, reference):
    graph = data.draw(reference.graphs())
    options = {"norm": norm, "kappa": kappa, "query_norm": query_norm, "shared_dim": shared_dim}
    conv = reference.redraw(SharedHeadsConv(4, 2, 3, skip=skip, bias=bias, **options), seed=1)
    x = reference.normal(2, graph.num_nodes(), 4)
    with torch.no_grad():
        out, attention = conv(graph, x, get_attention=True)
        # Without the weights, a fused kernel computes.
        torch.testing.assert_close(conv(graph, x), out, atol=1e-12, rtol=1e-12)
    assert out.shape == (graph.num_nodes(), 3, 2) and attention.shape == (graph.num_edges(), 3, 1)
    expected = loops(reference, conv, graph, x)
    np.testing.assert_allclose(out, expected[0], atol=1e-10)
    np.testing.assert_allclose(attention.squeeze(-1), expected[1], atol=1e-10)


def test_k2_softmax_does_not_see_the_bias_of_keys_and_lipschitz_norm_does(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    for norm in NORMS:
        conv = reference.redraw(SharedHeadsConv(4, 2, 3, shared_dim=5, norm=norm), seed=1)
        before = conv(graph, x, get_attention=True)[1]
        with torch.no_grad():
            conv.key.bias.add_(reference.normal(2, 5))
        after = conv(graph, x, get_attention=True)[1]
        assert torch.allclose(before, after, rtol=0, atol=1e-12) == (norm is None)


@pytest.mark.parametrize("bias", [True, False])
def test_k3_the_number_of_weights_is_that_of_the_formula(bias):
    def of_scores(width):
        conv = SharedHeadsConv(12, 4, 8, shared_dim=width, bias=bias)
        names = ("query", "key", "mixing")
        return sum(p.numel() for name, p in conv.named_parameters() if name.startswith(names))

    assert of_scores(16) == (2 * (12 + bias) + 8) * 16
    assert of_scores(16) == 2 * of_scores(8)
    plain = TransformerConv(12, 4, 8, bias=False)
    assert plain.query.weight.numel() + plain.key.weight.numel() == 2 * 12 * 8 * 4


@pytest.mark.parametrize("norm", NORMS)
def test_k6_factors_whose_product_is_one_leave_the_scores_without_a_norm(norm, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    conv = reference.redraw(SharedHeadsConv(4, 2, 3, shared_dim=5, norm=norm), seed=1)
    before = conv(graph, x)
    of_query, of_key = reference.normal(2, 2, 5).exp()
    with torch.no_grad():
        for linear, factor in ((conv.query, of_query), (conv.key, of_key)):
            linear.weight.mul_(factor.unsqueeze(1))
            linear.bias.mul_(factor)
        conv.mixing.div_(of_query * of_key)
    # With the norm scores are divided by lengths, in which channels count by how a product is split.
    assert torch.allclose(conv(graph, x), before, rtol=0, atol=1e-12) == (norm is None)


@pytest.mark.parametrize("norm", NORMS)
def test_k6_a_factor_moved_from_query_and_key_into_the_mixing_leaves_the_norm_as_well(norm, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    conv = reference.redraw(SharedHeadsConv(4, 2, 3, shared_dim=5, norm=norm), seed=1)
    before, bound = conv(graph, x), conv.lipschitz_bound(graph)
    factor = reference.normal(2, 5).exp()
    with torch.no_grad():
        for linear in (conv.query, conv.key):
            linear.weight.mul_(factor.unsqueeze(1))
            linear.bias.mul_(factor)
        conv.mixing.div_(factor.square())
    torch.testing.assert_close(conv(graph, x), before, atol=1e-12, rtol=1e-12)
    assert conv.lipschitz_bound(graph) == pytest.approx(bound, rel=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_k8_heads_change_places_with_their_mixing_and_values(norm, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    conv = reference.redraw(SharedHeadsConv(4, 2, 3, shared_dim=5, norm=norm), seed=1)
    before = conv(graph, x)
    order = [2, 0, 1]
    with torch.no_grad():
        conv.mixing.copy_(conv.mixing[order])
        for linear in (conv.value, conv.skip):
            linear.weight.copy_(linear.weight.unflatten(0, (3, 2))[order].flatten(0, 1))
            linear.bias.copy_(linear.bias.view(3, 2)[order].flatten())
    torch.testing.assert_close(conv(graph, x), before[:, order], atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("norm, query_norm", [(None, "node"), ("lip", "node"), ("lip", "graph")])
def test_k9_gradients_are_right_and_reach_the_mixing(norm, query_norm, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3).requires_grad_()
    conv = SharedHeadsConv(3, 2, 2, shared_dim=4, mixing_init="block", norm=norm, query_norm=query_norm)
    mixing = conv.mixing.detach().double()
    reference.redraw(conv, seed=1)
    names = [name for name, _ in conv.named_parameters()]

    def call(x, *parameters):
        return torch.func.functional_call(conv, dict(zip(names, parameters, strict=True)), (graph, x))

    inputs = [parameter.detach().clone().requires_grad_() for parameter in conv.parameters()]
    torch.autograd.gradcheck(call, (x, *inputs), atol=1e-6)
    # Also to channels that a head does not use yet, where |m| has no derivative but the score has.
    conv.mixing.data.copy_(mixing)
    conv(graph, x).sin().sum().backward()
    assert conv.mixing.grad.isfinite().all() and conv.mixing.grad.all()


@settings(max_examples=20, deadline=None)
@given(
    data=st.data(),
    query_norm=st.sampled_from(QUERY_NORMS),
    kappa=st.sampled_from([0.25, 1.0, 4.0]),
    seed=st.integers(0, 2**16),
)
def test_normalized_scores_are_within_one_over_kappa(data, query_norm, kappa, seed, reference):
    graph = data.draw(reference.graphs(complete="entered"))
    conv = SharedHeadsConv(4, 2, 3, shared_dim=5, norm="lip", kappa=kappa, query_norm=query_norm)
    reference.redraw(conv, seed=seed)
    with torch.no_grad():
        conv.mixing.mul_(10 ** (2 * reference.normal(seed + 3, 3, 5)))
    sizes = 10 ** (2 * reference.normal(seed, 3, graph.num_nodes(), 1))
    query, key = (sizes[k] * reference.normal(seed + 1 + k, graph.num_nodes(), 5) for k in range(2))
    value = sizes[2].unsqueeze(1) * reference.normal(seed + 4, graph.num_nodes(), 3, 2)
    scores = conv.scores(graph, query, key, value)
    assert scores.shape == (graph.num_edges(), 3, 1)
    assert scores.abs().max() <= (1 + 1e-12) / kappa


@settings(max_examples=30, deadline=None)
@given(
    data=st.data(),
    complete=st.sampled_from(["loops", "entered"]),
    query_norm=st.sampled_from(QUERY_NORMS),
    kappa=st.sampled_from([0.5, 1.0, 4.0]),
    skip=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_the_jacobian_stays_within_the_bound(data, complete, query_norm, kappa, skip, seed, reference):
    graph = data.draw(reference.graphs(complete=complete, max_nodes=5))
    conv = SharedHeadsConv(4, 2, 3, skip=skip, shared_dim=4, norm="lip", kappa=kappa, query_norm=query_norm)
    reference.redraw(conv, seed=seed)
    sizes = 10 ** (2 * reference.normal(seed + 1, graph.num_nodes(), 1))
    x = sizes * reference.normal(seed + 2, graph.num_nodes(), 4)
    assert reference.spectral_norm(reference.jacobian(partial(conv, graph), x)) <= conv.lipschitz_bound(graph)


@pytest.mark.parametrize("skip", [True, False])
def test_the_bound_is_that_of_the_vectors_whose_products_the_scores_are(skip, reference):
    graph = reference.small_graph()
    conv = reference.redraw(SharedHeadsConv(4, 2, 3, shared_dim=5, skip=skip, norm="lip", kappa=2.0), seed=4)
    state, edges = reference.arrays(conv), reference.edges_of(graph)
    attention = reference.certified_bound(edges, 7, lambda n: math.exp(0.5) / math.sqrt(n) + math.sqrt(2))
    split = np.sqrt(np.abs(state["mixing"]))  # row by row, one below the other, for every head
    rows = [split[h, :, None] * state[f"{name}.weight"] for h in range(3) for name in ("query", "key")]
    maps = reference.spectral_norm(np.concatenate([*rows, state["value.weight"]]))
    added = reference.spectral_norm(state["skip.weight"]) if skip else 0.0
    assert conv.lipschitz_bound(graph) == pytest.approx(attention * maps + added, rel=1e-12)


def test_without_a_norm_there_is_no_bound(reference):
    assert SharedHeadsConv(4, 2, 3).lipschitz_bound(reference.small_graph()) == math.inf


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [0.0, 1e-30, 1e30])
@pytest.mark.parametrize("query_norm", QUERY_NORMS)
@pytest.mark.parametrize("mixing_init", ["normal", "block"])
def test_features_of_any_size_give_finite_outputs_and_gradients(dtype, size, query_norm, mixing_init, reference):
    graph = reference.small_graph()
    torch.manual_seed(0)
    options = {"shared_dim": 6, "mixing_init": mixing_init, "bias": False, "norm": "lip", "query_norm": query_norm}
    conv = SharedHeadsConv(4, 2, 3, **options).to(dtype)
    x = (size * reference.normal(2, 7, 4)).to(dtype).requires_grad_()
    out = conv(graph, x)
    out.mul(reference.normal(3, 7, 3, 2).to(dtype)).sum().backward()
    for tensor in (out, x.grad, *(parameter.grad for parameter in conv.parameters())):
        assert tensor.isfinite().all()
    if size:
        unit = conv(graph, reference.normal(2, 7, 4).to(dtype))
        torch.testing.assert_close(out / size, unit, atol=1e-4, rtol=1e-4)


def test_a_head_without_channels_attends_to_all_alike(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 4).requires_grad_()
    conv = reference.redraw(SharedHeadsConv(4, 2, 3, shared_dim=5, norm="lip"), seed=1)
    with torch.no_grad():
        conv.mixing[1] = 0
    out, attention = conv(graph, x, get_attention=True)
    degrees = graph.in_degrees()[graph.edges()[1]].double()
    torch.testing.assert_close(attention[:, 1, 0], 1 / degrees)
    torch.testing.assert_close(conv(graph, x), out)
    conv(graph, x).sin().sum().backward()
    assert x.grad.isfinite().all() and conv.mixing.grad.isfinite().all()


def test_a_channel_that_no_head_uses_changes_nothing_however_large_it_is(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 4, dtype=torch.float32)
    conv = reference.redraw(SharedHeadsConv(4, 2, 3, shared_dim=5, norm="lip"), seed=1, dtype=torch.float32)
    with torch.no_grad():
        conv.mixing[:, 2] = 0
        before = conv(graph, x)
        for linear in (conv.query, conv.key):
            linear.weight[2] *= 1e12
        torch.testing.assert_close(conv(graph, x), before)


def test_the_scale_is_part_of_the_state_and_in_all_digits(reference):
    conv = SharedHeadsConv(4, 3, 2, shared_dim=4)
    assert conv.double().state_dict()["scale"].item() == 1 / math.sqrt(3)
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    sharper = SharedHeadsConv(4, 3, 2, shared_dim=4).double()
    sharper.load_state_dict(conv.state_dict() | {"scale": torch.tensor(2.0)})
    doubled = SharedHeadsConv(4, 3, 2, shared_dim=4).double()
    doubled.load_state_dict(conv.state_dict() | {"mixing": 2 * math.sqrt(3) * conv.mixing.detach()})
    torch.testing.assert_close(sharper(graph, x), doubled(graph, x), atol=1e-12, rtol=1e-12)


def test_every_image_or_sample_by_itself(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 2, 3, 4)
    conv = reference.redraw(SharedHeadsConv(4, 2, 3, shared_dim=5, norm="lip"), seed=1)
    out = conv(graph, x)
    assert out.shape == (7, 2, 3, 3, 2)
    for a in range(2):
        for b in range(3):
            torch.testing.assert_close(out[:, a, b], conv(graph, x[:, a, b].contiguous()))


def test_mixings_at_first():
    blocks = SharedHeadsConv(4, 2, 3, shared_dim=6, mixing_init="block").mixing
    assert blocks.tolist() == [[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]]
    torch.manual_seed(0)
    drawn = SharedHeadsConv(4, 50, 20).mixing
    assert abs(drawn.std().item() - 0.2) < 0.01 and abs(drawn.mean().item()) < 0.01


@pytest.mark.parametrize(
    "options, problem",
    [
        ({"shared_dim": 0}, "shared_dim must be a positive whole number"),
        ({"shared_dim": 4, "mixing_init": "block"}, "a multiple of 3 heads, got 4"),
        ({"mixing_init": "uniform"}, "Unknown mixing_init 'uniform'"),
        ({"norm": "lip-source"}, "Unknown score norm 'lip-source'"),
    ],
)
def test_wrong_arguments_are_refused(options, problem):
    with pytest.raises(UsageError, match=problem):
        SharedHeadsConv(4, 2, 3, **options)


def test_a_specification_makes_the_layer_and_half_of_it_for_half_of_the_width():
    options = {"model": "gt", "hidden": 4, "heads": 3, "head_sharing": "collab", "norm": "lip", "skip": "none"}
    conv = SharedHeadsConv.from_spec(NetworkSpec(**options, shared_dim=6, kappa=2.0), 12)
    assert (conv.shared_dim, conv.out_feats, conv.num_heads, conv.skip, conv.norm.kappa) == (6, 4, 3, None, 2.0)
    assert SharedHeadsConv.from_spec(NetworkSpec(**options, shared_dim=6), 6).shared_dim == 3
    full = SharedHeadsConv.from_spec(NetworkSpec(**options, mixing_init="block"), 12)
    assert full.shared_dim == 12 and full.mixing[0].tolist() == [1] * 4 + [0] * 8


def test_what_scores_are_made_of(reference):
    conv = reference.redraw(SharedHeadsConv(4, 2, 3, shared_dim=5), seed=1)
    assert [linear.module for linear in conv.maps] == [conv.query, conv.key, conv.value, conv.skip]
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    with torch.no_grad():
        for parameter in conv.score_weights:
            parameter.zero_()
    _, key, value = conv.query(x), conv.key(x), conv.value(x).view(7, 3, 2)
    assert not conv.scores(graph, conv.query(x), key, value).any()
