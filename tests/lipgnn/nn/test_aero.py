"""AeroConv against loops over edges, what it is in special cases, and a whole network of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from networks import bare

from lipgnn.errors import DataError, UsageError
from lipgnn.nn import AeroConv
from lipgnn.nn.contract import is_local, keeps_statistics, shown
from lipgnn.runtime import dgl

PAIRS = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 2), (2, 5), (0, 4)]
EDGES = PAIRS + [(i, j) for j, i in PAIRS] + [(i, i) for i in range(7)]
WIDTH, HEADS = 4, 2
OPTIONS = {"model": "aero", "activation": "none", "hidden": 2, "heads": HEADS}


@pytest.fixture
def graph(reference):
    """Seven nodes, one of them apart; every edge goes both ways."""
    return reference.build(EDGES, nodes=7)


def elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def decay(beta, layer):
    return math.log(beta / layer + 1 + 1e-6)


def by_the_book(h, layers, beta):
    """All hops, node by node and edge by edge: the states h and z after each, (N, H, D) in numpy."""
    nodes, heads = h.shape[:2]
    own = layers[0]
    z = np.zeros_like(h)
    for i in range(nodes):
        for k in range(heads):
            z[i, k] = (own["start"][k] @ elu(h[i, k]) + own["start_bias"][k]) * h[i, k]
    states = []
    for number, own in enumerate(layers, start=1):
        decayed = decay(beta, number) * z
        raw = np.zeros((nodes, nodes, heads))
        for j, i in EDGES:
            for k in range(heads):
                score = own["edge"][k] @ elu(decayed[i, k] + decayed[j, k])
                raw[i, j, k] += math.log1p(math.exp(score)) + 1e-6
        degree = raw.sum(axis=1)
        matrix = raw / np.sqrt(degree[:, None] * degree[None, :])
        h = np.einsum("ijk,jkd->ikd", matrix, h)
        share = np.einsum("kd,ikd->ik", own["hop"], elu(np.concatenate([h, decayed], axis=-1)))
        z = z + (share + own["hop_bias"])[..., None] * h
        states.append((h, z))
    return states


@pytest.mark.parametrize("layers", [1, 2, 5])
def test_a_network_equals_loops_over_nodes_and_edges(layers, graph, reference):
    network = reference.redraw(bare(3, 2, layers=layers, beta=0.7, **OPTIONS), seed=1).eval()
    x = reference.normal(0, 7, 3)
    h = network.encoder(x).detach().numpy()
    states = by_the_book(reference.heads(h, HEADS), [reference.arrays(block.conv) for block in network.blocks], 0.7)
    z = states[-1][1].reshape(7, -1)
    expected = elu(z) @ network.decoder.weight.detach().numpy().T + network.decoder.bias.detach().numpy()
    np.testing.assert_allclose(network(graph, x).detach(), expected, rtol=1e-10, atol=1e-10)
    if layers > 1:
        with torch.no_grad():
            first = network.blocks[0](graph, network.encoder(x))
        both = np.concatenate([part.reshape(7, -1) for part in states[0]], axis=1)
        np.testing.assert_allclose(first, both, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(shown(network.blocks[0].conv, first), both[:, WIDTH:], rtol=1e-10, atol=1e-10)


def plain(reference, graph):
    """GCN's matrix, D^{-1/2} A D^{-1/2}."""
    adjacency = np.zeros((7, 7))
    for j, i in reference.edges_of(graph):
        adjacency[i, j] += 1
    return adjacency / np.sqrt(np.outer(adjacency.sum(0), adjacency.sum(1)))


def test_with_equal_scores_and_shares_it_is_the_sum_of_powers_of_gcns_matrix(graph, reference):
    network = reference.redraw(bare(3, 2, layers=4, **OPTIONS), seed=1)
    with torch.no_grad():
        for block in network.blocks:
            for name, parameter in block.conv.named_parameters():
                parameter.fill_(1.0 if "bias" in name else 0.0)
    x = reference.normal(0, 7, 3)
    h, matrix = network.encoder(x).detach().numpy(), plain(reference, graph)
    z = sum(np.linalg.matrix_power(matrix, k) @ h for k in range(5))
    expected = elu(z) @ network.decoder.weight.detach().numpy().T + network.decoder.bias.detach().numpy()
    np.testing.assert_allclose(network(graph, x).detach(), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("size", [0.1, 1.0, 30.0])
def test_the_matrix_of_its_weights_does_not_lengthen(size, graph, reference):
    conv = reference.redraw(AeroConv(WIDTH, HEADS, decay=0.5), seed=2)
    with torch.no_grad():
        raw, root = conv.weights(graph, size * reference.normal(3, 7, HEADS, 2))
    for k in range(HEADS):
        matrix = np.zeros((7, 7))
        for e, (j, i) in enumerate(EDGES):
            matrix[i, j] = (raw[e, k] * root[i, k] * root[j, k]).item()
        np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
        assert np.linalg.norm(matrix, 2) == pytest.approx(1, abs=1e-9)


def test_gradients_are_those_of_finite_differences(graph, reference):
    conv = reference.redraw(AeroConv(WIDTH, HEADS, decay=0.5, first=False, last=False), seed=2)
    x = reference.normal(4, 7, 2 * WIDTH).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: conv(graph, x), x)
    conv = reference.redraw(AeroConv(WIDTH, HEADS, decay=0.5), seed=2)
    weights = tuple(parameter.detach().clone().requires_grad_() for parameter in conv.parameters())
    names, x = [name for name, _ in conv.named_parameters()], reference.normal(4, 7, WIDTH)

    def output(*values):
        return torch.func.functional_call(conv, dict(zip(names, values, strict=True)), (graph, x))

    assert torch.autograd.gradcheck(output, weights)


def test_it_does_not_depend_on_the_order_of_nodes(graph, reference):
    conv, x = reference.redraw(AeroConv(WIDTH, HEADS, decay=0.5), seed=2), reference.normal(4, 7, WIDTH)
    order = torch.randperm(7, generator=torch.Generator().manual_seed(0))
    place = torch.argsort(order)
    sources, targets = graph.edges()
    renamed = dgl.graph((place[sources], place[targets]), num_nodes=7)
    torch.testing.assert_close(conv(renamed, x[order]), conv(graph, x)[order], rtol=1e-10, atol=1e-10)


def test_it_looks_farther_than_its_neighbours_and_says_so(graph, reference):
    """How much node 0 gets of node 1 depends on node 2, two edges away."""
    conv, x = reference.redraw(AeroConv(WIDTH, HEADS, decay=0.5), seed=2), reference.normal(4, 7, WIDTH)
    other = x.clone()
    other[2] += 3
    assert (conv(graph, x)[0] != conv(graph, other)[0]).any() and not is_local(conv)
    assert not keeps_statistics(conv)
    assert "not Lipschitz" in conv.certified(graph).reason


def test_it_starts_with_equal_shares_of_hops_and_what_glorot_draws():
    conv = AeroConv(WIDTH, HEADS, decay=0.5)
    assert conv.hop_bias.eq(1).all() and conv.start_bias.eq(1).all()
    for parameter, largest in ((conv.edge, 4), (conv.hop, 6), (conv.start, 4)):
        assert 0 < parameter.abs().max() <= math.sqrt(6 / largest)


def test_a_graph_with_edges_that_go_one_way_is_refused(reference):
    conv = AeroConv(WIDTH, HEADS, decay=0.5)
    block = dgl.create_block(([0, 1], [0, 1]), num_src_nodes=2, num_dst_nodes=2)
    for graph, nodes in ((reference.small_graph(), 7), (block, 2)):
        with pytest.raises(DataError, match="edges go both ways") as caught:
            conv(graph, torch.zeros(nodes, WIDTH))
        assert "--batch-size 0" in caught.value.hint
    with pytest.raises(DataError, match="7 nodes of the graph and 4 columns"):
        conv(reference.build(EDGES, nodes=7), torch.zeros(7, 2 * WIDTH))


def test_edges_that_are_listed_twice_go_both_ways_if_those_back_are(reference):
    conv, x = reference.redraw(AeroConv(WIDTH, HEADS, decay=0.5), seed=2), reference.normal(4, 2, WIDTH)
    assert conv(reference.build([(0, 1), (0, 1), (1, 0), (1, 0)], nodes=2), x).isfinite().all()
    with pytest.raises(DataError):
        conv(reference.build([(0, 1), (0, 1), (1, 0)], nodes=2), x)


def test_deep_networks_have_finite_gradients_and_recompute_the_same(graph, reference):
    gradients = []
    for every in ("0", "4"):
        torch.manual_seed(0)
        network = bare(3, 2, **OPTIONS, layers=32, recompute_every=every)
        network(graph, reference.normal(0, 7, 3, dtype=torch.float32)).square().sum().backward()
        gradients.append([parameter.grad for parameter in network.parameters()])
    for one, other in zip(*gradients, strict=True):
        assert one.isfinite().all() and torch.equal(one, other)


def test_its_weights_of_edges_are_no_attention_of_the_kind_that_is_shown(graph, reference):
    with pytest.raises(UsageError, match="no attention weights"):
        bare(3, 2, layers=2, **OPTIONS).attention(graph, reference.normal(0, 7, 3, dtype=torch.float32))
