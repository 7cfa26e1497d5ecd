"""GATv2Conv: equal to DGL's and PyG's without a norm, to loops over edges always, and within its certified bound."""

from __future__ import annotations

import io
import math
from functools import partial

import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from lipgnn.errors import DataError, UsageError
from lipgnn.nn import GATConv, GATv2Conv
from lipgnn.runtime import dgl

pytestmark = pytest.mark.usefixtures("each_kernel")

# in_feats, residual: the linear residual is that of differing widths, the identity that of equal ones (3 · 2).
RESIDUALS = {"none": (4, False), "identity": (6, True), "linear": (4, True)}


def loops(reference, conv: GATv2Conv, graph, x: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The layer by loops over edges, from its state dict alone: output and attention weights."""
    state, edges = reference.arrays(conv), reference.edges_of(graph)
    key, right = (x.numpy() @ state[f"{name}.weight"].T for name in ("fc_src", "fc_dst"))
    shift, own = (state.get(f"{name}.bias", np.zeros(key.shape[1])) for name in ("fc_src", "fc_dst"))
    key, query = (reference.heads(rows, conv.num_heads) for rows in (key, right + own + shift))
    kappa = None if conv.norm is None else conv.norm.kappa
    slope = conv.leaky_relu.negative_slope
    scores = reference.dynamic_scores(edges, key, query, state["attn"][0], kappa, slope)
    out, attention = reference.attend(edges, scores, key + reference.heads(shift[None], conv.num_heads))
    if "res_fc.weight" in state:
        linear = x.numpy() @ state["res_fc.weight"].T + state.get("res_fc.bias", 0.0)
        out = out + reference.heads(linear, conv.num_heads)
    elif conv.res_fc is not None:
        out = out + reference.heads(x.numpy(), conv.num_heads)
    return out, attention


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("residual", RESIDUALS)
def test_equals_dgl_whichever_weights_are_loaded_into_the_other(residual, share, reference):
    graph, (in_feats, adds) = reference.small_graph(), RESIDUALS[residual]
    options = {"residual": adds, "negative_slope": 0.3, "activation": nn.ELU(), "share_weights": share}
    for source, target in ((0, 1), (1, 0)):
        layers = [kind(in_feats, 2, 3, **options) for kind in (GATv2Conv, dgl.nn.GATv2Conv)]
        reference.redraw(layers[source], seed=6, dtype=torch.float32)
        layers[target].load_state_dict(layers[source].state_dict(), strict=True)
        results, gradients = [], []
        for layer in layers:
            x = reference.normal(3, 7, in_feats, dtype=torch.float32).requires_grad_()
            out = layer(graph, x)
            out.square().sum().backward()
            results.append((out, layer(graph, x, True)[1]))
            gradients.append({name: parameter.grad for name, parameter in [("x", x), *layer.named_parameters()]})
        torch.testing.assert_close(results[0], results[1], atol=1e-6, rtol=1e-6)
        torch.testing.assert_close(gradients[0], gradients[1], atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("share", [True, False])
def test_the_same_seed_draws_the_weights_and_the_dropout_of_dgl(share, reference):
    outputs, states = [], []
    for kind in (partial(GATv2Conv, kernel="dgl"), dgl.nn.GATv2Conv):
        torch.manual_seed(5)
        layer = kind(4, 2, 3, feat_drop=0.4, attn_drop=0.4, residual=True, share_weights=share)
        outputs.append(layer(reference.small_graph(), torch.ones(7, 4)))
        states.append(dict(layer.state_dict()))
    torch.testing.assert_close(states[0], states[1], atol=0, rtol=0)
    torch.testing.assert_close(outputs[0], outputs[1], atol=1e-6, rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_equals_pytorch_geometric_with_its_weights(bias, share, reference, pyg):
    graph = reference.small_graph()
    ours = GATv2Conv(4, 2, 3, bias=bias, share_weights=share)
    theirs = pyg.GATv2Conv(4, 2, heads=3, bias=bias, share_weights=share, add_self_loops=False)
    reference.redraw(theirs, seed=6, dtype=torch.float32)
    names = {"lin_l": "fc_src", "lin_r": "fc_dst", "att": "attn"}
    state = {name: x for name, x in theirs.state_dict().items() if name != "bias"}
    ours.load_state_dict({names[name.split(".")[0]] + name[len(name.split(".")[0]) :]: x for name, x in state.items()})
    x = reference.normal(3, 7, 4, dtype=torch.float32)
    expected, (_, weights) = theirs(x, torch.stack(graph.edges()), return_attention_weights=True)
    if bias:
        expected = expected - theirs.bias
    torch.testing.assert_close(ours(graph, x).flatten(1), expected, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(ours(graph, x, True)[1].squeeze(-1), weights, atol=1e-6, rtol=1e-6)


@settings(max_examples=30, deadline=None)
@given(
    data=st.data(),
    residual=st.sampled_from(sorted(RESIDUALS)),
    norm=st.sampled_from([None, "lip"]),
    bias=st.booleans(),
    share=st.booleans(),
    kappa=st.sampled_from([0.25, 4.0]),
)
def test_equals_loops_over_edges(data, residual, norm, bias, share, kappa, reference):
    graph, (in_feats, adds) = data.draw(reference.graphs()), RESIDUALS[residual]
    options = {"bias": bias, "share_weights": share, "negative_slope": 0.1, "norm": norm, "kappa": kappa}
    conv = reference.redraw(GATv2Conv(in_feats, 2, 3, residual=adds, **options), seed=1)
    x = reference.normal(2, graph.num_nodes(), in_feats)
    with torch.no_grad():
        out, attention = conv(graph, x, get_attention=True)
        # Without the weights, a fused kernel computes.
        torch.testing.assert_close(conv(graph, x), out, atol=1e-12, rtol=1e-12)
    expected = loops(reference, conv, graph, x)
    np.testing.assert_allclose(out, expected[0], atol=1e-10)
    np.testing.assert_allclose(attention.squeeze(-1), expected[1], atol=1e-10)


def test_every_node_has_a_favourite_of_its_own_and_in_gat_all_have_one(reference):
    """W_l = (1, −1)ᵀ, W_r = −W_l, a = (−1, −1): e_ij = −0.8 |x_i − x_j|, so the nearest wins; no GAT can do that."""
    graph = reference.build([(j, i) for i in range(5) for j in range(5)], nodes=5)
    x = reference.normal(1, 5, 1)
    conv = GATv2Conv(1, 2, 1, bias=False).double()
    with torch.no_grad():
        conv.fc_src.weight.copy_(torch.tensor([[1.0], [-1.0]]))
        conv.fc_dst.weight.copy_(torch.tensor([[-1.0], [1.0]]))
        conv.attn.fill_(-1.0)
        scores = conv.scores(graph, conv.fc_src(x).view(5, 1, 2), conv.fc_dst(x).view(5, 1, 2)).view(5, 5)
        attention = conv(graph, x, True)[1].view(5, 5)
        static = reference.redraw(GATConv(1, 2, 1), seed=2)(graph, x, get_attention=True)[1].view(5, 5)
    torch.testing.assert_close(scores, -0.8 * (x - x.t()).abs())
    assert attention.argmax(dim=1).tolist() == list(range(5))
    assert len(set(static.argmax(dim=1).tolist())) == 1


@pytest.mark.parametrize("norm", [None, "lip"])
def test_a_node_without_in_edges_is_refused_by_name_or_gives_nothing(norm, reference):
    graph = reference.small_graph(loops=False)  # nothing enters node 6
    x = reference.normal(0, 7, 4).requires_grad_()
    with pytest.raises(DataError, match=r"1 node\(s\) have no in-edge, the first: 6;"):
        reference.redraw(GATv2Conv(4, 2, 3, norm=norm), seed=1)(graph, x)
    conv = reference.redraw(GATv2Conv(4, 2, 3, allow_zero_in_degree=True, norm=norm), seed=1)
    out = conv(graph, x)
    out.square().sum().backward()
    assert not out[6].any() and not x.grad[6].any()
    assert x.grad.isfinite().all() and conv.fc_src.bias.grad.isfinite().all()
    assert not conv(reference.build([], nodes=3), x[:3]).any()


@pytest.mark.parametrize("norm", [None, "lip"])
def test_what_is_dropped_and_weighed_takes_its_share_of_the_bias_with_it(norm, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    conv = reference.redraw(GATv2Conv(4, 2, 3, norm=norm), seed=1)
    weight = reference.normal(3, graph.num_edges())
    out, attention = conv(graph, x, edge_weight=weight, get_attention=True)
    sources, targets = graph.edges()
    values = conv.fc_src(x).view(7, 3, 2)[sources]
    expected = torch.zeros(7, 3, 2).double().index_add(0, targets, attention * values)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(conv(graph, x, edge_weight=weight), expected)
    torch.testing.assert_close(attention, conv(graph, x, True)[1] * weight.view(-1, 1, 1))


def test_a_bias_makes_no_attention_flatter(reference):
    """A bias b_l with −b_l in the other map changes no score, and LipschitzNorm does not see it either."""
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    conv = reference.redraw(GATv2Conv(4, 2, 3, norm="lip", kappa=0.5), seed=1)
    before = conv(graph, x, True)[1]
    with torch.no_grad():
        conv.fc_src.bias += 1e3
        conv.fc_dst.bias -= 1e3
    torch.testing.assert_close(conv(graph, x, True)[1], before)


def test_shared_weights_are_one_parameter_under_both_names(reference):
    conv = reference.redraw(GATv2Conv(4, 2, 3, share_weights=True), seed=1)
    assert sorted(name for name, _ in conv.named_parameters()) == ["attn", "fc_src.bias", "fc_src.weight"]
    state = conv.state_dict()
    assert torch.equal(state["fc_dst.weight"], state["fc_src.weight"])
    again = GATv2Conv(4, 2, 3, share_weights=True).double()
    again.load_state_dict(safetensors.torch.load(safetensors.torch.save(dict(state))))
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    assert torch.equal(again(graph, x), conv(graph, x))
    nested = nn.ModuleList([again])
    nested.load_state_dict({f"0.{name}": tensor for name, tensor in state.items() if "dst" not in name})
    with pytest.raises(RuntimeError, match=r"0.fc_dst.weight is not that of fc_src"):
        nested.load_state_dict({f"0.{name}": tensor + ("dst" in name) for name, tensor in state.items()})
    with pytest.raises(UsageError, match=r"of one width, and in_feats is \(4, 5\)"):
        GATv2Conv((4, 5), 2, 3, share_weights=True)


@pytest.mark.parametrize("share", [True, False])
def test_layers_can_be_saved_whole(share, reference):
    layer = GATv2Conv(4, 2, 3, norm="lip", share_weights=share)
    torch.save(layer, file := io.BytesIO())
    file.seek(0)
    graph, x = reference.small_graph(), reference.normal(0, 7, 4).float()
    assert torch.equal(torch.load(file, weights_only=False)(graph, x), layer(graph, x))


def test_a_norm_of_ones_own_gets_graph_scores_keys_queries_and_attention_vectors(reference):
    class Flat(nn.Module):
        def forward(self, graph, scores, z, attn):
            self.received = (graph.num_edges(), scores, *z, attn)
            return 0 * scores

    graph, x, norm = reference.small_graph(), reference.normal(0, 7, 4), Flat()
    conv = reference.redraw(GATv2Conv(4, 2, 3, norm=norm), seed=1)
    attention = conv(graph, x, True)[1]
    degrees = graph.in_degrees()[graph.edges()[1]]
    torch.testing.assert_close(attention, (1 / degrees.double()).view(-1, 1, 1).expand(-1, 3, 1))
    edges, scores, key, query, attn = norm.received
    torch.testing.assert_close(key + query[:7], (conv.fc_src(x) + conv.fc_dst(x)).view(7, 3, 2))
    torch.testing.assert_close(key, conv.values(x).view(7, 3, 2))
    assert edges == graph.num_edges() and attn is conv.attn
    raw = reference.dynamic_scores(reference.edges_of(graph), *(t.detach().numpy() for t in (key, query, attn[0])))
    np.testing.assert_allclose(scores.detach().squeeze(-1), raw, atol=1e-12)


def test_names_and_settings_of_the_norm():
    assert (GATv2Conv(4, 2, 3, norm="lip").norm.kappa, GATv2Conv(4, 2, 3, norm="lip").norm.shared) == (4.0, False)
    norm = GATv2Conv(4, 2, 3, norm="lip", kappa=0.5, share_weights=True).norm
    assert (norm.kappa, norm.shared) == (0.5, True)
    with pytest.raises(UsageError, match="Unknown score norm 'lip-source'"):
        GATv2Conv(4, 2, 3, norm="lip-source")


def test_dropout_in_training_only(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    conv = reference.redraw(GATv2Conv(4, 2, 3, feat_drop=0.5, attn_drop=0.5, norm="lip"), seed=1)
    assert not torch.equal(conv(graph, x), conv(graph, x))
    conv.eval()
    plain = reference.redraw(GATv2Conv(4, 2, 3, norm="lip"), seed=1)
    torch.testing.assert_close(conv(graph, x), plain(graph, x), atol=0, rtol=0)
    assert not graph.ndata and not graph.edata


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("residual", RESIDUALS)
def test_the_bound_is_the_formula_of_its_docstring(residual, share, reference):
    graph, (in_feats, adds) = reference.small_graph(), RESIDUALS[residual]
    conv = GATv2Conv(in_feats, 2, 3, residual=adds, norm="lip", kappa=2.0, share_weights=share)
    reference.redraw(conv, seed=4)
    of_scores = math.sqrt(2) if share else 1.0
    attention = reference.certified_bound(
        reference.edges_of(graph), 7, lambda n: math.exp(0.5) / math.sqrt(n) + of_scores
    )
    maps = [conv.fc_src.weight] if share else [conv.fc_src.weight, conv.fc_dst.weight]
    maps = reference.spectral_norm(torch.cat(maps).detach())
    linear = isinstance(conv.res_fc, nn.Linear)
    added = reference.spectral_norm(conv.res_fc.weight.detach()) if linear else float(adds)
    assert conv.lipschitz_bound(graph) == pytest.approx(attention * maps + added, rel=1e-12)


@settings(max_examples=25, deadline=None)
@given(
    data=st.data(),
    residual=st.sampled_from(sorted(RESIDUALS)),
    complete=st.sampled_from(["loops", "entered"]),
    share=st.booleans(),
    kappa=st.sampled_from([0.5, 1.0, 4.0]),
    seed=st.integers(0, 2**16),
)
def test_the_jacobian_stays_within_the_bound(data, residual, complete, share, kappa, seed, reference):
    graph, (in_feats, adds) = data.draw(reference.graphs(complete=complete, max_nodes=5)), RESIDUALS[residual]
    options = {"residual": adds, "norm": "lip", "kappa": kappa, "activation": nn.ELU(), "share_weights": share}
    conv = reference.redraw(GATv2Conv(in_feats, 2, 3, **options), seed=seed)
    sizes = 10 ** (2 * reference.normal(seed + 1, graph.num_nodes(), 1))
    x = sizes * reference.normal(seed + 2, graph.num_nodes(), in_feats)
    assert reference.spectral_norm(reference.jacobian(partial(conv, graph), x)) <= conv.lipschitz_bound(graph)


def test_there_is_no_bound_without_a_norm_nor_for_a_steep_leaky_relu(reference):
    graph = reference.small_graph()
    assert "use --norm lip" in GATv2Conv(4, 2, 3).certified(graph).reason
    assert "negative_slope 1.5" in GATv2Conv(4, 2, 3, norm="lip", negative_slope=1.5).certified(graph).reason
    steep = GATv2Conv(4, 2, 3, norm="lip", activation=torch.sin).certified(graph)
    assert "activation sin is not known" in steep.reason


def test_maps_are_those_of_sources_targets_and_a_linear_residual(reference):
    conv = reference.redraw(GATv2Conv(4, 2, 3, residual=True), seed=1)
    assert [linear.module for linear in conv.maps] == [conv.fc_src, conv.fc_dst, conv.res_fc]
    assert [linear.last for linear in conv.maps] == [True, False, True]
    assert len(GATv2Conv(4, 2, 3, share_weights=True).maps) == 1
    x = reference.normal(0, 7, 4)
    torch.testing.assert_close(conv.values(x) + conv.fc_src.bias, conv.fc_src(x))
