"""GATConv: equal to DGL's without a norm, equal to loops over edges always, and within its certified bound."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from lipgnn.catalog import SCORE_NORMS
from lipgnn.errors import DataError, UsageError
from lipgnn.nn import GATConv
from lipgnn.runtime import dgl

pytestmark = pytest.mark.usefixtures("each_kernel")

# in_feats, residual: the linear residual is that of differing widths, the identity that of equal ones (3 · 2).
RESIDUALS = {"none": (4, False), "identity": (6, True), "linear": (4, True)}


def loops(reference, conv: GATConv, graph, x: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The layer by loops over edges, from its state dict alone: output and attention weights."""
    state, edges = reference.arrays(conv), reference.edges_of(graph)
    z = reference.heads(x.numpy() @ state["fc.weight"].T, conv.num_heads)
    kappa = None if conv.norm is None else conv.norm.kappa
    scores = reference.additive_scores(edges, z, state["attn_l"][0], state["attn_r"][0], kappa)
    scores = np.where(scores > 0, scores, conv.leaky_relu.negative_slope * scores)
    out, attention = reference.attend(edges, scores, z)
    if "bias" in state:
        out = out + reference.heads(state["bias"][None], conv.num_heads)
    if "res_fc.weight" in state:
        linear = x.numpy() @ state["res_fc.weight"].T + state.get("res_fc.bias", 0.0)
        out = out + reference.heads(linear, conv.num_heads)
    elif conv.res_fc is not None:
        out = out + reference.heads(x.numpy(), conv.num_heads)
    return out, attention


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("residual", RESIDUALS)
def test_equals_dgl_whichever_weights_are_loaded_into_the_other(residual, bias, reference):
    graph, (in_feats, adds) = reference.small_graph(), RESIDUALS[residual]
    options = {"residual": adds, "bias": bias, "negative_slope": 0.3, "activation": nn.ELU()}
    for source, target in ((0, 1), (1, 0)):
        layers = [kind(in_feats, 2, 3, **options) for kind in (GATConv, dgl.nn.GATConv)]
        reference.redraw(layers[source], seed=6, dtype=torch.float32)
        layers[target].load_state_dict(layers[source].state_dict(), strict=True)
        results, gradients = [], []
        for layer in layers:
            x = reference.normal(3, 7, in_feats, dtype=torch.float32).requires_grad_()
            out, attention = layer(graph, x, get_attention=True)
            out.square().sum().backward()
            results.append((out, attention))
            gradients.append({name: parameter.grad for name, parameter in [("x", x), *layer.named_parameters()]})
        torch.testing.assert_close(results[0], results[1], atol=1e-6, rtol=1e-6)
        torch.testing.assert_close(gradients[0], gradients[1], atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("residual", RESIDUALS)
def test_the_same_seed_draws_the_weights_and_the_dropout_of_dgl(residual, reference):
    graph, (in_feats, adds) = reference.small_graph(), RESIDUALS[residual]
    outputs, states = [], []
    for kind in (partial(GATConv, kernel="dgl"), dgl.nn.GATConv):
        torch.manual_seed(5)
        layer = kind(in_feats, 2, 3, feat_drop=0.4, attn_drop=0.4, residual=adds)
        outputs.append(layer(graph, torch.ones(7, in_feats)))
        states.append(dict(layer.state_dict()))
    torch.testing.assert_close(states[0], states[1], atol=0, rtol=0)
    torch.testing.assert_close(outputs[0], outputs[1], atol=1e-6, rtol=1e-6)


@settings(max_examples=20, deadline=None)
@given(
    data=st.data(),
    residual=st.sampled_from(sorted(RESIDUALS)),
    norm=st.sampled_from([None, "lip"]),
    bias=st.booleans(),
    kappa=st.sampled_from([0.25, 4.0]),
)
def test_equals_loops_over_edges(data, residual, norm, bias, kappa, reference):
    graph, (in_feats, adds) = data.draw(reference.graphs()), RESIDUALS[residual]
    conv = GATConv(in_feats, 2, 3, residual=adds, bias=bias, negative_slope=0.1, norm=norm, kappa=kappa)
    reference.redraw(conv, seed=1)
    x = reference.normal(2, graph.num_nodes(), in_feats)
    with torch.no_grad():
        out, attention = conv(graph, x, get_attention=True)
        # Without the weights, a fused kernel computes.
        torch.testing.assert_close(conv(graph, x), out, atol=1e-12, rtol=1e-12)
    assert out.shape == (graph.num_nodes(), 3, 2) and attention.shape == (graph.num_edges(), 3, 1)
    expected = loops(reference, conv, graph, x)
    np.testing.assert_allclose(out, expected[0], atol=1e-10)
    np.testing.assert_allclose(attention.squeeze(-1), expected[1], atol=1e-10)


def test_the_activation_acts_last(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 6)
    plain = reference.redraw(GATConv(6, 2, 3, residual=True, norm="lip"), seed=2)
    active = reference.redraw(GATConv(6, 2, 3, residual=True, norm="lip", activation=torch.tanh), seed=2)
    torch.testing.assert_close(active(graph, x), plain(graph, x).tanh())


@pytest.mark.parametrize("norm", [None, "lip"])
def test_a_node_without_in_edges_is_refused_by_name_or_gives_the_bias_alone(norm, reference):
    graph = reference.small_graph(loops=False)  # nothing enters node 6
    x = reference.normal(0, 7, 4)
    with pytest.raises(DataError, match=r"1 node\(s\) have no in-edge, the first: 6;"):
        reference.redraw(GATConv(4, 2, 3, norm=norm), seed=1)(graph, x)
    conv = reference.redraw(GATConv(4, 2, 3, allow_zero_in_degree=True, norm=norm), seed=1)
    torch.testing.assert_close(conv(graph, x)[6].flatten(), conv.bias)


@pytest.mark.parametrize("norm", [None, "lip"])
def test_a_node_without_in_edges_has_no_part_in_the_gradients(norm, reference):
    conv = reference.redraw(GATConv(4, 2, 3, allow_zero_in_degree=True, norm=norm), seed=1)
    x = reference.normal(0, 7, 4)
    gradients = []
    for graph, nodes in ((reference.small_graph(loops=False), 7), (reference.build(reference.SMALL, nodes=6), 6)):
        part = x[:nodes].clone().requires_grad_()
        conv(graph, part)[:6].square().sum().backward()
        gradients.append(part.grad)
    assert not gradients[0][6].any()
    torch.testing.assert_close(gradients[0][:6], gradients[1])


@pytest.mark.parametrize("norm", [None, "lip"])
@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_without_any_edge_the_output_is_the_bias(nodes, norm, reference):
    conv = reference.redraw(GATConv(4, 2, 3, allow_zero_in_degree=True, norm=norm), seed=1)
    out = conv(reference.build([], nodes=nodes), reference.normal(0, nodes, 4))
    torch.testing.assert_close(out, conv.bias.view(1, 3, 2).expand(nodes, 3, 2))


def test_an_unknown_norm_lists_the_names():
    with pytest.raises(UsageError, match="Unknown score norm 'lipp'") as caught:
        GATConv(4, 2, 3, norm="lipp")
    assert caught.value.hint == f"Did you mean 'lip'? Valid: {', '.join(SCORE_NORMS)}."


def test_a_norm_of_ones_own_gets_graph_scores_features_and_attention_vectors(reference):
    class Flat(nn.Module):
        def forward(self, graph, scores, z, attn):
            self.received = (graph.num_edges(), scores, z, attn)
            return 0 * scores

    graph, x, norm = reference.small_graph(), reference.normal(0, 7, 4), Flat()
    conv = reference.redraw(GATConv(4, 2, 3, norm=norm), seed=1)
    _, attention = conv(graph, x, get_attention=True)
    degrees = graph.in_degrees()[graph.edges()[1]]
    torch.testing.assert_close(attention, (1 / degrees.double()).view(-1, 1, 1).expand(-1, 3, 1))
    edges, scores, z, attn = norm.received
    torch.testing.assert_close(z, conv.fc(x).view(7, 3, 2))
    torch.testing.assert_close(attn, torch.cat([conv.attn_l, conv.attn_r], dim=2))
    raw = reference.additive_scores(
        reference.edges_of(graph), *(t.detach().numpy() for t in (z, conv.attn_l[0], conv.attn_r[0]))
    )
    assert edges == graph.num_edges()
    np.testing.assert_allclose(scores.detach().squeeze(-1), raw, atol=1e-12)


def test_kappa_reaches_the_norm_and_changes_the_output(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    sharp, flat = (reference.redraw(GATConv(4, 2, 3, norm="lip", kappa=kappa), seed=1) for kappa in (0.1, 4.0))
    assert (sharp.norm.kappa, flat.norm.kappa) == (0.1, 4.0)
    assert GATConv(4, 2, 3, norm="lip").norm.kappa == 4.0
    assert not torch.allclose(sharp(graph, x), flat(graph, x), atol=1e-3)


def test_dropout_in_training_only(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    conv = reference.redraw(GATConv(4, 2, 3, feat_drop=0.5, attn_drop=0.5, norm="lip"), seed=1)
    assert not torch.equal(conv(graph, x), conv(graph, x))
    conv.eval()
    plain = reference.redraw(GATConv(4, 2, 3, norm="lip"), seed=1)
    assert torch.equal(conv(graph, x), conv(graph, x))
    torch.testing.assert_close(conv(graph, x), plain(graph, x), atol=0, rtol=0)


def test_nothing_is_left_on_the_graph(reference):
    graph = reference.small_graph()
    GATConv(4, 2, 3, norm="lip")(graph, torch.ones(7, 4))
    assert not graph.ndata and not graph.edata


@pytest.mark.parametrize("residual", RESIDUALS)
def test_the_bound_is_the_formula_of_its_docstring(residual, reference):
    graph, (in_feats, adds) = reference.small_graph(), RESIDUALS[residual]
    conv = reference.redraw(GATConv(in_feats, 2, 3, residual=adds, norm="lip", kappa=2.0), seed=4)
    attention = reference.certified_bound(
        reference.edges_of(graph), 7, lambda n: math.exp(0.5) / math.sqrt(n) + math.sqrt(2)
    )
    weight = conv.fc.weight.detach()
    heads = math.sqrt(sum(reference.spectral_norm(weight[2 * h : 2 * h + 2]) ** 2 for h in range(3)))
    together = reference.spectral_norm(weight)
    assert together < heads, "no sharper than head by head"
    added = {
        "none": lambda: 0,
        "identity": lambda: 1,
        "linear": lambda: reference.spectral_norm(conv.res_fc.weight.detach()),
    }
    assert conv.lipschitz_bound(graph) == pytest.approx(attention * together + added[residual](), rel=1e-12)


@settings(max_examples=15, deadline=None)
@given(
    data=st.data(),
    residual=st.sampled_from(sorted(RESIDUALS)),
    complete=st.sampled_from(["loops", "entered"]),
    kappa=st.sampled_from([0.5, 1.0, 4.0]),
    seed=st.integers(0, 2**16),
)
def test_the_jacobian_stays_within_the_bound(data, residual, complete, kappa, seed, reference):
    graph, (in_feats, adds) = data.draw(reference.graphs(complete=complete, max_nodes=5)), RESIDUALS[residual]
    options = {"residual": adds, "norm": "lip", "kappa": kappa, "activation": nn.ELU()}
    conv = reference.redraw(GATConv(in_feats, 2, 3, **options), seed=seed)
    sizes = 10 ** (2 * reference.normal(seed + 1, graph.num_nodes(), 1))
    x = sizes * reference.normal(seed + 2, graph.num_nodes(), in_feats)
    assert reference.spectral_norm(reference.jacobian(partial(conv, graph), x)) <= conv.lipschitz_bound(graph)


def test_without_a_norm_there_is_no_bound_and_the_jacobian_grows_with_the_features(reference):
    # Two opposite neighbours with equal scores: whatever moves weight from one to the other moves the output by s.
    graph = reference.build([(0, 2), (1, 2), (0, 0), (1, 1)], nodes=3)
    layers = {norm: GATConv(2, 2, 1, negative_slope=1.0, norm=norm).double() for norm in (None, "lip")}
    for conv in layers.values():
        with torch.no_grad():
            conv.fc.weight.copy_(torch.eye(2))
            conv.attn_l.copy_(torch.tensor([1.0, 0.0]).view(1, 1, 2))
            conv.attn_r.zero_()
    bound = layers["lip"].lipschitz_bound(graph)
    assert layers[None].lipschitz_bound(graph) == math.inf
    for s in (1e2, 1e4):
        x = torch.tensor([[0, s], [0, -s], [0, 0]], dtype=torch.float64)
        plain, lip = (reference.spectral_norm(reference.jacobian(partial(conv, graph), x)) for conv in layers.values())
        assert plain > s / 2 > bound >= lip


def test_without_a_norm_there_is_no_bound_even_for_zero_weights(reference):
    conv = GATConv(4, 2, 3)
    nn.init.zeros_(conv.fc.weight)
    assert not math.isnan(conv.lipschitz_bound(reference.small_graph()))


@pytest.mark.parametrize("slope", [1.5, -1.5])
def test_no_bound_for_a_leaky_relu_steeper_than_one(slope, reference):
    bound = GATConv(4, 2, 3, norm="lip", negative_slope=slope).certified(reference.small_graph())
    assert bound.value == math.inf and f"negative_slope {slope}" in bound.reason


def test_a_steep_activation_stretches_the_bound_and_an_unknown_one_has_none(reference):
    graph = reference.small_graph()
    plain, steep, unknown = (
        reference.redraw(GATConv(4, 2, 3, norm="lip", activation=activation), seed=1).certified(graph)
        for activation in (nn.ReLU(), nn.ELU(alpha=3.0), torch.sin)
    )
    assert steep.value == pytest.approx(3 * plain.value)
    assert "activation sin is not known" in unknown.reason


@pytest.mark.parametrize("norm", [name for name in SCORE_NORMS if name != "lip"])
def test_variants_of_the_norm_are_left_to_the_reference(norm, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    torch.manual_seed(0)
    ours, theirs = (GATConv(4, 2, 3, norm=norm, kernel=kernel).double() for kernel in ("auto", "dgl"))
    theirs.load_state_dict(ours.state_dict())
    assert torch.equal(ours(graph, x), theirs(graph, x))
    with pytest.raises(UsageError, match="Kernel 'fused' knows layers without a score norm or with LipschitzNorm"):
        GATConv(4, 2, 3, norm=norm, kernel="fused").double()(graph, x)
    assert math.isinf(ours.lipschitz_bound(graph)) == (norm != "lip-all-heads")
