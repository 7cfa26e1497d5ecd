"""GATSepConv against loops over edges: the formula of its docstring, with and without LipschitzNorm, and its bound."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.measures.features import attention_entropy
from lipgnn.nn import GATConv, GATSepConv
from lipgnn.nn.contract import attended
from lipgnn.nn.spread import spread_of
from lipgnn.runtime import dgl

pytestmark = pytest.mark.usefixtures("each_kernel")

KAPPAS = [None, 0.25, 4.0]


def made(reference, kappa, seed=1, **options):
    norm = {} if kappa is None else {"norm": "lip", "kappa": kappa}
    return reference.redraw(GATSepConv(4, 3, 2, **norm, **options), seed=seed)


def by_the_book(reference, conv, graph, x, kappa):
    """Edge by edge, the node itself left out of its own neighbours; the output and the weights of all edges."""
    own, edges = reference.arrays(conv), reference.edges_of(graph)
    between = [e for e, (j, i) in enumerate(edges) if j != i]
    pairs = [edges[e] for e in between]
    z = x.numpy() @ own["fc.weight"].T
    heads = reference.heads(z, 2)
    scores = reference.additive_scores(pairs, heads, own["attn_l"][0], own["attn_r"][0], kappa)
    scores = np.where(scores > 0, scores, 0.2 * scores)
    message, weights = reference.attend(pairs, scores, heads)
    both = np.concatenate([z, message.reshape(len(z), -1)], axis=1)
    inner = both @ own["feed.first.weight"].T + own["feed.first.bias"]
    inner = np.vectorize(lambda t: t * (1 + math.erf(t / math.sqrt(2))) / 2)(inner)
    attention = np.zeros((len(edges), 2))
    attention[between] = weights
    return inner @ own["feed.second.weight"].T + own["feed.second.bias"], attention


@pytest.mark.parametrize("kappa", KAPPAS)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_equals_loops_over_edges(kappa, data, reference):
    graph = data.draw(reference.graphs(complete=data.draw(st.sampled_from(["loops", "nothing"]))))
    conv = made(reference, kappa)
    x = reference.normal(2, graph.num_nodes(), 4)
    expected, weights = by_the_book(reference, conv, graph, x, kappa)
    out, attention = conv(graph, x, get_attention=True)
    np.testing.assert_allclose(out.detach().flatten(1), expected, atol=1e-10)
    np.testing.assert_allclose(conv(graph, x).detach().flatten(1), expected, atol=1e-10)
    np.testing.assert_allclose(attention.detach().squeeze(-1), weights, atol=1e-10)


@pytest.mark.parametrize("kappa", KAPPAS)
def test_loops_change_nothing(kappa, reference):
    conv, x = made(reference, kappa), reference.normal(2, 7, 4)
    with_loops, without = reference.small_graph(), reference.small_graph(loops=False)
    torch.testing.assert_close(conv(with_loops, x), conv(without, x), rtol=0, atol=0)
    spread, other = conv.eval().spread(with_loops, x), conv.spread(without, x)
    torch.testing.assert_close(spread.entropy, other.entropy, rtol=0, atol=0)


@pytest.mark.parametrize("kappa", KAPPAS)
def test_gradients_are_those_of_finite_differences(kappa, reference):
    conv, graph = made(reference, kappa), reference.small_graph()
    weights = tuple(parameter.detach().clone().requires_grad_() for parameter in conv.parameters())
    names = [name for name, _ in conv.named_parameters()]

    def output(x, *values):
        return torch.func.functional_call(conv, dict(zip(names, values, strict=True)), (graph, x))

    assert torch.autograd.gradcheck(output, (reference.normal(2, 7, 4).requires_grad_(), *weights))


def test_lipschitz_norm_keeps_the_scores_of_neighbours_within_its_bound(reference):
    conv, graph = made(reference, 4.0), reference.small_graph(loops=False)
    z = 100 * reference.normal(3, 7, 2, 3)
    assert conv.scores(graph, z).abs().max() <= 1 / 4 + 1e-12
    assert GATConv(4, 3, 2).scores(graph, z.float()).abs().max() > 1


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_no_jacobian_exceeds_the_bound(data, reference):
    graph = data.draw(reference.graphs())
    conv = made(reference, data.draw(st.sampled_from([0.25, 1.0, 4.0])), seed=data.draw(st.integers(0, 99)))
    x = data.draw(st.sampled_from([0.01, 1.0, 10.0])) * reference.normal(2, graph.num_nodes(), 4)
    stretch = reference.spectral_norm(reference.jacobian(lambda x: conv(graph, x).flatten(1), x))
    assert stretch <= conv.certified(graph).value * (1 + 1e-10)


def test_the_bound_is_the_product_of_its_docstring(reference):
    conv, graph = made(reference, 4.0), reference.small_graph()
    edges = reference.edges_of(reference.small_graph(loops=False))
    bound = partial(_node_bound, 4.0)
    attention = reference.certified_bound(edges, 7, bound)
    w, first, second = (
        np.linalg.norm(m.detach().numpy(), 2) for m in (conv.fc.weight, conv.feed.first.weight, conv.feed.second.weight)
    )
    slope = max((1 + math.erf(t / 2**0.5)) / 2 + t * math.exp(-t * t / 2) / math.sqrt(2 * math.pi) for t in [2**0.5])
    expected = math.hypot(1, attention) * w * first * slope * second
    assert conv.certified(graph).value == pytest.approx(expected, rel=1e-10)


def _node_bound(kappa, n):
    return math.exp(1 / kappa) / math.sqrt(n) + 2 * math.sqrt(2) / kappa


def test_no_bound_without_a_norm_or_where_sources_are_not_targets(reference):
    assert "plain attention is not Lipschitz" in made(reference, None).certified(reference.small_graph()).reason
    block = dgl.create_block(([0, 2], [0, 1]), num_src_nodes=4, num_dst_nodes=2)
    assert "sources and targets are not the same" in made(reference, 4.0).certified(block).reason


def test_on_a_message_flow_graph_targets_are_what_they_are_in_the_whole(reference):
    conv, graph, x = made(reference, 4.0), reference.small_graph(), reference.normal(2, 7, 4)
    nodes = [2, 1, 4, 0, 3, 5, 6]  # node 2 and its in-neighbours 1 and 4 first
    block = dgl.create_block(([1, 2, 0], [0, 0, 0]), num_src_nodes=7, num_dst_nodes=1)
    torch.testing.assert_close(conv(block, x[nodes]), conv(graph, x)[[2]], rtol=1e-10, atol=1e-10)


def test_edge_weights_are_those_of_the_edges_that_are_there(reference):
    conv, graph, x = made(reference, 4.0), reference.small_graph(), reference.normal(2, 7, 4)
    sources, targets = graph.edges()
    weight = torch.where(sources == targets, 99.0, 1.0).double()
    torch.testing.assert_close(conv(graph, x, weight), conv(graph, x), rtol=1e-12, atol=1e-12)
    _, attention = conv(graph, x, 2 * weight, get_attention=True)
    torch.testing.assert_close(attention, 2 * conv(graph, x, get_attention=True)[1], rtol=1e-12, atol=1e-12)


def test_uniform_attention_to_neighbours_has_the_entropy_one(reference):
    """Measured against the edges that attention is over, not against all."""
    conv, graph, x = made(reference, None).eval(), reference.small_graph(), reference.normal(2, 7, 4)
    with torch.no_grad():
        conv.attn_l.zero_(), conv.attn_r.zero_()
        edges = attended([conv], graph)
        weights = conv(graph, x, get_attention=True)[1].squeeze(-1)
    assert edges.num_edges() == 9
    for spread in (conv.spread(graph, x), spread_of(graph, weights)):
        assert attention_entropy(edges, spread).item() == pytest.approx(1, abs=1e-12)
        assert attention_entropy(graph, spread).item() < 1
    assert attended([GATConv(4, 3, 2)], graph) is graph


def test_it_does_not_depend_on_the_order_of_nodes(reference):
    conv, x = made(reference, 4.0), reference.normal(2, 7, 4)
    order = torch.randperm(7, generator=torch.Generator().manual_seed(0))
    place = torch.argsort(order)
    graph = reference.small_graph()
    sources, targets = graph.edges()
    renamed = dgl.graph((place[sources], place[targets]), num_nodes=7)
    torch.testing.assert_close(conv(renamed, x[order]), conv(graph, x)[order], rtol=1e-10, atol=1e-10)


def test_without_biases_zero_features_stay_zero(reference):
    conv = made(reference, 4.0, bias=False)
    assert not conv(reference.small_graph(), torch.zeros(7, 4, dtype=torch.float64)).any()
    assert not any("bias" in name for name in conv.state_dict())


def test_new_weights_are_drawn_for_all_of_it():
    conv = GATSepConv(4, 3, 2)
    before = {name: parameter.clone() for name, parameter in conv.named_parameters() if "bias" not in name}
    conv.reset_parameters()
    assert len(before) == 5 and not any(torch.equal(conv.get_parameter(name), old) for name, old in before.items())
