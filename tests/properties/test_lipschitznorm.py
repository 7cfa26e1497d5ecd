"""The properties U1 to U13 of LipschitzNorm, one test each, named after them.

U1, U2, U3 and U8 are statements about Att(X) = X softmax(g(X))ᵀ with m queries and n keys, without a graph. They
are expressed on a graph in which every key node sends an edge to the query nodes; α of the theorem is 1/κ here.
"""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from lipgnn.nn import GATConv, GATv2Conv, GroupedHeadsConv, SharedHeadsConv, TransformerConv
from lipgnn.nn.softmax import aggregate
from lipgnn.norms import DotProductLipschitzNorm, LipschitzNorm

SEEDS = st.integers(0, 2**16)
KAPPAS = st.sampled_from([0.5, 1.0, 4.0])


@pytest.fixture(scope="session")
def linear_attention(reference):
    """Att(X) with the linear score QᵀX, by LipschitzNorm and the layers' own softmax and sum.

    The n keys are the source nodes, the target is one further node with features zero; the m queries are m heads
    with the same features. The theorem divides by ‖Q‖_F, which all queries share: every head is given the whole
    of Q as its attention vector. `alpha=None` leaves the scores raw.
    """

    def attention(keys: torch.Tensor, queries: torch.Tensor, alpha: float | None) -> torch.Tensor:
        (n, d), m = keys.shape, len(queries)
        graph = reference.build([(j, n) for j in range(n)], nodes=n + 1)
        z = torch.cat([keys, keys.new_zeros(1, d)]).unsqueeze(1).expand(n + 1, m, d)
        scores = (keys @ queries.t()).unsqueeze(-1)  # (n, m, 1)
        if alpha is not None:
            # Loops on the key nodes give every node an in-edge; their scores are cut off again.
            with_loops = reference.build([(j, n) for j in range(n)] + [(j, j) for j in range(n)], nodes=n + 1)
            attn = queries.flatten().expand(1, m, m * d)
            padded = torch.cat([scores, torch.zeros_like(scores)])
            scores = LipschitzNorm(kappa=1 / alpha)(with_loops, padded, z, attn)[:n]
        return aggregate(graph, scores, z, nn.Identity())[0][n]  # (m, d)

    return attention


@pytest.fixture(scope="session")
def quadratic_attention(reference):
    """Att(Q, K, V) with the score QᵀK on the complete graph from n key nodes to m query nodes.

    `query_norm="graph"` is the theorem's divisor: u = ‖Q‖_F over all queries, those of the key nodes being zero.
    """

    def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        m, n, d = len(query), len(key), key.shape[1]
        edges = [(m + j, i) for i in range(m) for j in range(n)] + [(m + j, m + j) for j in range(n)]
        graph = reference.build(edges, nodes=m + n)

        def nodes(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
            return torch.cat([first, second]).unsqueeze(1)  # (m + n, 1, d)

        q = nodes(query, key.new_zeros(n, d))
        k, v = (nodes(key.new_zeros(m, d), x) for x in (key, value))
        scores = DotProductLipschitzNorm(kappa=1.0, query_norm="graph")(graph, q, k, v)
        out = aggregate(graph, scores, v, nn.Identity())[0][:m]
        return out, scores[: m * n]

    return attention


def gat(reference, seed: int, *, kappa: float = 4.0, width: int = 2, heads: int = 3, **options) -> GATConv:
    return reference.redraw(GATConv(4, width, heads, norm="lip", kappa=kappa, **options), seed=seed)


def identity_gat(reference, seed: int, kappa: float) -> GATConv:
    """One head of width 3 with W = I and no bias: attention itself, as a function of Z."""
    conv = reference.redraw(GATConv(3, 3, 1, bias=False, norm="lip", kappa=kappa), seed=seed)
    with torch.no_grad():
        conv.fc.weight.copy_(torch.eye(3))
    return conv


def uneven(reference, seed: int, rows: int, width: int) -> torch.Tensor:
    """Features whose rows have lengths from about 10^-2 to 10^2."""
    sizes = 10 ** torch.from_numpy(np.random.default_rng(seed).uniform(-2, 2, size=(rows, 1)))
    return sizes * reference.normal(seed + 1, rows, width)


@settings(max_examples=60, deadline=None)
@given(
    d=st.integers(1, 3), n=st.integers(1, 5), m=st.integers(1, 3), alpha=st.sampled_from([0.25, 1.0, 2.0]), seed=SEEDS
)
def test_u1_linear_score_jacobian_within_the_theorem(d, n, m, alpha, seed, reference, linear_attention):
    """‖J‖₂ ≤ e^α √(m/n) + 2α, the sharper form, which implies the published one with α√8."""
    queries = uneven(reference, seed, m, d)
    keys = uneven(reference, seed + 2, n, d)
    jacobian = reference.jacobian(lambda keys: linear_attention(keys, queries, alpha), keys)
    assert reference.spectral_norm(jacobian) <= math.exp(alpha) * math.sqrt(m / n) + 2 * alpha


@pytest.mark.parametrize(("s", "raw"), [(1e1, 7.106), (1e2, 70.714), (1e3, 707.107)])
def test_u2_counter_example(s, raw, reference, linear_attention):
    """Keys (0, s), (0, −s) and query (1, 0): the raw Jacobian grows with s, the normalized one is 1 for every s.

    Expressed exactly: LipschitzNorm with a_r = 0, κ = 1 and zero features at the target has the divisor
    ‖Q‖ max_j ‖x_j‖ of the theorem with α = 1; no rescaling is needed.
    """
    keys, query = torch.tensor([[0, s], [0, -s]], dtype=torch.float64), torch.tensor([[1.0, 0.0]]).double()
    plain, lip = (
        reference.jacobian(partial(linear_attention, queries=query, alpha=alpha), keys) for alpha in (None, 1.0)
    )
    assert plain.abs().max().item() == pytest.approx(s / 2)
    assert reference.spectral_norm(plain) == pytest.approx(raw, abs=5e-4)
    assert lip.abs().max().item() == pytest.approx(0.5)
    assert reference.spectral_norm(lip) == pytest.approx(1.0)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 5), m=st.integers(1, 3), power=st.floats(-6, 6), seed=SEEDS)
def test_u3_scaling_the_input_scales_the_output_and_leaves_the_jacobian(n, m, power, seed, reference, linear_attention):
    t = 10.0**power
    keys, queries = uneven(reference, seed, n, 2), reference.normal(seed + 2, m, 2)
    attention = partial(linear_attention, queries=queries, alpha=1.0)
    torch.testing.assert_close(attention(t * keys), t * attention(keys), rtol=1e-10, atol=t * 1e-10)
    jacobians = (reference.jacobian(attention, x) for x in (keys, t * keys))
    torch.testing.assert_close(*jacobians, rtol=1e-9, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(data=st.data(), power=st.floats(-6, 6), seed=SEEDS)
def test_u4_the_size_of_the_attention_vector_does_not_matter_and_its_sign_negates(data, power, seed, reference):
    graph = data.draw(reference.graphs())
    z = reference.normal(seed, graph.num_nodes(), 3, 2)
    conv = gat(reference, seed)
    before = conv.scores(graph, z)
    with torch.no_grad():
        conv.attn_l *= 10.0**power
        conv.attn_r *= 10.0**power
    torch.testing.assert_close(conv.scores(graph, z), before, rtol=1e-10, atol=1e-12)
    with torch.no_grad():
        conv.attn_l *= -1
        conv.attn_r *= -1
    torch.testing.assert_close(conv.scores(graph, z), -before, rtol=1e-10, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(data=st.data(), power=st.floats(-6, 6), seed=SEEDS)
def test_u5_the_size_of_the_weights_does_not_change_the_attention(data, power, seed, reference):
    graph = data.draw(reference.graphs())
    x = uneven(reference, seed, graph.num_nodes(), 4)
    conv = gat(reference, seed, kappa=0.5)
    _, before = conv(graph, x, get_attention=True)
    with torch.no_grad():
        conv.fc.weight *= 10.0**power
    _, after = conv(graph, x, get_attention=True)
    torch.testing.assert_close(after, before, rtol=1e-10, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), kappa=KAPPAS, seed=SEEDS, dtype=st.sampled_from([torch.float32, torch.float64]))
def test_u6_scores_within_one_over_kappa_and_attention_near_uniform(data, kappa, seed, dtype, reference):
    graph = data.draw(reference.graphs())
    conv = gat(reference, seed, kappa=kappa).to(dtype)
    x = uneven(reference, seed + 1, graph.num_nodes(), 4).to(dtype)
    slack = 1 + 8 * torch.finfo(dtype).eps
    assert conv.scores(graph, conv.fc(x).view(-1, 3, 2)).abs().max() <= slack / kappa
    _, attention = conv(graph, x, get_attention=True)
    degrees = graph.in_degrees()[graph.edges()[1]].view(-1, 1, 1)
    times_uniform = degrees * attention
    assert math.exp(-1.2 / kappa) / slack <= times_uniform.min()
    assert times_uniform.max() <= math.exp(1.2 / kappa) * slack


def test_u6_the_score_bound_is_attained(reference):
    """a parallel to [z_j ‖ z_i] with z_j the longest: |t̂| = 1/κ, so a smaller bound would be wrong."""
    graph = reference.build([(0, 1), (0, 0)], nodes=2)
    conv = GATConv(2, 2, 1, norm="lip", kappa=4.0).double()
    z = torch.tensor([[3.0, 4.0], [1.0, -2.0]], dtype=torch.float64).unsqueeze(1)
    with torch.no_grad():
        conv.attn_l.copy_(z[:1])
        conv.attn_r.copy_(z[1:])
    assert conv.scores(graph, z)[0].item() == pytest.approx(0.25)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), kappa=KAPPAS, seed=SEEDS, share=st.booleans(), power=st.floats(-6, 6))
def test_u3_to_u6_of_gatv2(data, kappa, seed, share, power, reference):
    """Features, maps and attention vector of any size; scores within 1/κ, and within √(2(1+s²))/κ of each other.

    The latter is by (φ(x) − φ(y))² ≤ (1+s²)(x² + y²) for every channel of two arguments, whose lengths squared are at
    most 2 (max_j ‖k_j‖² + ‖q_i‖²) each.
    """
    graph, t = data.draw(reference.graphs()), 10.0**power
    x = uneven(reference, seed + 1, graph.num_nodes(), 4)
    conv = GATv2Conv(4, 2, 3, norm="lip", kappa=kappa, bias=False, share_weights=share)
    out, attention = reference.redraw(conv, seed=seed)(graph, x, get_attention=True)
    key, query = (x @ conv.state_dict()[f"{name}.weight"].t() for name in ("fc_src", "fc_dst"))
    scores = conv.scores(graph, key.view(-1, 3, 2), query.view(-1, 3, 2))
    slack = 1 + 1e-12
    assert scores.abs().max() <= slack / kappa
    times_uniform = graph.in_degrees()[graph.edges()[1]].view(-1, 1, 1) * attention
    span = math.exp(math.sqrt(2 * (1 + 0.2**2)) / kappa) * slack
    assert 1 / span <= times_uniform.min() and times_uniform.max() <= span
    torch.testing.assert_close(conv(graph, t * x), t * out, rtol=1e-9, atol=t * 1e-9)
    with torch.no_grad():
        for parameter in conv.parameters():
            parameter *= t
    again, weights = conv(graph, x, get_attention=True)
    torch.testing.assert_close((again, weights), (t * out, attention), rtol=1e-9, atol=t * 1e-9)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), complete=st.sampled_from(["loops", "entered"]), kappa=KAPPAS, seed=SEEDS)
def test_u7_jacobian_of_every_node_and_of_the_graph(data, complete, kappa, seed, reference):
    """L_i ≤ e^{1/κ}/√n_i + 2√2/κ, and the whole graph ≤ sqrt(max_j Σ L_i²), which is `lipschitz_bound` for W = I."""
    graph = data.draw(reference.graphs(complete=complete, max_nodes=5))
    conv = identity_gat(reference, seed, kappa)
    x = uneven(reference, seed + 1, graph.num_nodes(), 3)
    jacobian = reference.jacobian(partial(conv, graph), x)

    def node_bound(n: int) -> float:
        return math.exp(1 / kappa) / math.sqrt(n) + 2 * math.sqrt(2) / kappa

    for i, n in enumerate(graph.in_degrees().tolist()):
        assert reference.spectral_norm(jacobian[3 * i : 3 * i + 3]) <= node_bound(n)
    whole = reference.certified_bound(reference.edges_of(graph), graph.num_nodes(), node_bound)
    assert reference.spectral_norm(jacobian) <= whole
    assert conv.lipschitz_bound(graph) == pytest.approx(whole, rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(d=st.integers(1, 3), n=st.integers(1, 4), m=st.integers(1, 3), power=st.floats(-6, 6), seed=SEEDS)
def test_u8_quadratic_score_jacobian_and_joint_scale(d, n, m, power, seed, reference, quadratic_attention):
    """‖J_(Q,K,V)‖₂ ≤ e √(m/n) + 2√2, and scores do not change under (Q, K, V) → t (Q, K, V)."""
    sizes = (m, n, n)
    stacked = torch.cat([uneven(reference, seed + k, size, d) for k, size in enumerate(sizes)])
    jacobian = reference.jacobian(lambda stacked: quadratic_attention(*stacked.split(sizes))[0], stacked)
    assert reference.spectral_norm(jacobian) <= math.e * math.sqrt(m / n) + 2 * math.sqrt(2)
    _, scores = quadratic_attention(*stacked.split(sizes))
    assert scores.abs().max() <= 1 + 1e-12
    _, scaled = quadratic_attention(*(10.0**power * stacked).split(sizes))
    torch.testing.assert_close(scaled, scores, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("position", range(3), ids=["Q", "K", "V"])
def test_u8_scaling_one_of_the_three_changes_the_scores(position, reference, quadratic_attention):
    qkv = [reference.normal(seed, rows, 2) for seed, rows in enumerate((2, 3, 3))]
    _, before = quadratic_attention(*qkv)
    qkv[position] *= 0.01 if position < 2 else 100  # so that the scaled one leaves the largest product
    _, after = quadratic_attention(*qkv)
    assert not torch.allclose(before, after, rtol=0.1)


LAYERS = {
    "gat": GATConv,
    "gatv2": GATv2Conv,
    "gt": partial(TransformerConv, skip=False, bias=False),
    "gt collab": partial(SharedHeadsConv, skip=False, bias=False, shared_dim=5),
    "gt mqa": partial(GroupedHeadsConv, skip=False, bias=False),
}


@settings(max_examples=20, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(LAYERS)), seed=SEEDS)
def test_u9_attention_sums_to_one_and_permutes_with_the_nodes(data, name, seed, reference):
    graph = data.draw(reference.graphs())
    nodes = graph.num_nodes()
    conv = reference.redraw(LAYERS[name](4, 2, 3, norm="lip"), seed=seed)
    x = uneven(reference, seed, nodes, 4)
    out, attention = conv(graph, x, get_attention=True)
    sums = torch.zeros(nodes, 3).double().index_add(0, graph.edges()[1], attention.squeeze(-1))
    torch.testing.assert_close(sums, torch.ones(nodes, 3).double())
    order = torch.from_numpy(np.random.default_rng(seed).permutation(nodes))  # node i becomes order[i]
    edges = [(order[j].item(), order[i].item()) for j, i in reference.edges_of(graph)]
    permuted = torch.empty_like(x).index_copy(0, order, x)
    torch.testing.assert_close(conv(reference.build(edges, nodes=nodes), permuted)[order], out)


@pytest.mark.parametrize("name", LAYERS)
def test_u9_a_node_with_only_its_self_loop_returns_its_own_value(name, reference):
    conv = reference.redraw(LAYERS[name](4, 2, 3, norm="lip", bias=False), seed=1)
    x = reference.normal(2, 7, 4)
    value = conv.values(x)
    torch.testing.assert_close(conv(reference.small_graph(), x)[6].flatten(), value[6])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", LAYERS)
def test_u9_all_zero_features_give_finite_output_and_gradients(name, dtype, reference):
    conv = reference.redraw(LAYERS[name](4, 2, 3, norm="lip"), seed=1, dtype=dtype)
    x = torch.zeros(7, 4, dtype=dtype, requires_grad=True)
    out = conv(reference.small_graph(), x)
    out.square().sum().add(out.sum()).backward()
    for tensor in (out, x.grad, *(parameter.grad for parameter in conv.parameters())):
        assert tensor.isfinite().all()


@settings(max_examples=25, deadline=None)
@given(data=st.data(), kappa=KAPPAS, seed=SEEDS)
def test_u10_the_order_of_norm_and_leaky_relu_does_not_matter(data, kappa, seed, reference):
    """The layer has norm, then LeakyReLU; here LeakyReLU comes first."""
    graph = data.draw(reference.graphs())
    conv = gat(reference, seed, kappa=kappa)
    z = uneven(reference, seed + 1, graph.num_nodes() * 3, 2).view(-1, 3, 2)
    norm, conv.norm = conv.norm, None
    attn = torch.cat([conv.attn_l, conv.attn_r], dim=-1)
    other = norm(graph, conv.leaky_relu(conv.scores(graph, z)), z, attn)
    conv.norm = norm
    torch.testing.assert_close(conv.leaky_relu(conv.scores(graph, z)), other, rtol=1e-12, atol=1e-14)


@settings(max_examples=20, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(LAYERS)), seed=SEEDS)
def test_u11_a_large_kappa_gives_the_mean(data, name, seed, reference):
    graph = data.draw(reference.graphs())
    nodes = graph.num_nodes()
    conv = reference.redraw(LAYERS[name](4, 2, 3, norm="lip", kappa=1e9, bias=False), seed=seed)
    x = reference.normal(seed, nodes, 4)
    value = conv.values(x)
    mean = torch.zeros(nodes, 6).double().index_add(0, graph.edges()[1], value[graph.edges()[0]])
    mean = mean / graph.in_degrees().view(-1, 1)
    torch.testing.assert_close(conv(graph, x).flatten(1), mean, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", LAYERS)
def test_u12_gradcheck_of_the_whole_layer(name, reference):
    graph = reference.small_graph()
    conv = reference.redraw(LAYERS[name](3, 2, 2, norm="lip", kappa=0.5), seed=3)
    x = reference.normal(4, 7, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, *_: conv(graph, x), (x, *conv.parameters()))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("name", LAYERS)
def test_u13_permuting_the_heads_permutes_the_output(name, order, reference):
    graph, x = reference.small_graph(), reference.normal(2, 7, 4)
    conv = reference.redraw(LAYERS[name](4, 2, 3, norm="lip", kappa=0.5), seed=1)
    other = LAYERS[name](4, 2, 3, norm="lip", kappa=0.5).double()
    other.load_state_dict(reference.state_of_heads(conv, order))
    torch.testing.assert_close(other(graph, x), conv(graph, x)[:, list(order)])


@settings(max_examples=20, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(LAYERS)), seed=SEEDS)
def test_u13_heads_are_independent_single_head_layers(data, name, seed, reference):
    graph = data.draw(reference.graphs())
    x = uneven(reference, seed, graph.num_nodes(), 4)
    conv = reference.redraw(LAYERS[name](4, 2, 3, norm="lip", kappa=0.5), seed=seed)
    out = conv(graph, x)
    for h in range(3):
        single = LAYERS[name](4, 2, 1, norm="lip", kappa=0.5).double()
        single.load_state_dict(reference.state_of_heads(conv, [h]))
        torch.testing.assert_close(single(graph, x)[:, 0], out[:, h], rtol=1e-10, atol=1e-10)
