"""Shares by distance, against a dense Jacobian, closed forms on paths, and the theorem that L layers see L hops."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from networks import bare

from lipgnn.measures.reach import choose_targets, influence, reach


def path(reference, nodes, *, directed=False):
    """0 → 1 → 2 …, with self-loops; and back, unless directed."""
    edges = [(i, i + 1) for i in range(nodes - 1)]
    back = [] if directed else [(j, i) for i, j in edges]
    return reference.build([*edges, *back, *((i, i) for i in range(nodes))], nodes=nodes)


def looked(reference, network, graph, targets, *, seed=0):
    x = reference.normal(seed, graph.num_nodes(), 3)
    h, logits = network.eval().from_encoder(graph, x)
    return h, logits, reach(graph, h, logits, torch.tensor(targets), network.hops)


NETWORKS = {
    "gat": {"norm": "none", "residual": "initial", "layers": 5},
    "lip+batch": {"norm": "lip+batch", "residual": "linear", "jk": "sum"},
    "gt": {"model": "gt", "norm": "lip", "residual": "identity", "jk": "concat"},
    "gcn": {"model": "gcn", "norm": "none", "residual": "scaled", "mlp": "2x"},
    "reversible": {"norm": "none", "residual": "scaled", "stack": "reversible", "layers": 2},
    "no encoder": {"encoder": "none", "norm": "lip", "residual": "linear"},
    "pair": {"norm": "pair", "residual": "none", "jk": "max"},
}


def network_called(name, reference):
    return reference.redraw(bare(3, 2, **{"layers": 3, "hidden": 2, "heads": 2} | NETWORKS[name]), seed=1)


@pytest.mark.parametrize("name", NETWORKS)
def test_influence_is_the_norm_of_a_block_of_the_dense_jacobian(name, reference):
    graph, network = reference.small_graph(), network_called(name, reference)
    h, logits, _ = looked(reference, network, graph, [0])

    def plainly(x):
        for block in network.blocks:
            outputs.append(block(graph, outputs[-1] if outputs else x, *([x] if network.needs_start else [])))
        joined = {"none": outputs[-1], "sum": sum(outputs), "concat": torch.cat(outputs, dim=1)}
        stacked = torch.stack(outputs).amax(dim=0)
        outputs.clear()
        return network.decoder(joined.get(network.jk, stacked))

    outputs = []
    jacobian = torch.autograd.functional.jacobian(plainly, h.detach())  # (N, C, N, W)
    expected = jacobian.square().sum(dim=(1, 3)).sqrt()
    found = influence(h, logits, torch.arange(graph.num_nodes()))
    assert found.dtype == torch.float64
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NETWORKS)
def test_no_node_beyond_l_hops_has_influence_where_layers_are_local(name, reference):
    graph, network = path(reference, 20), network_called(name, reference)
    _, _, found = looked(reference, network, graph, [2, 9, 17])
    assert len(found.shares) == network.hops + 1 == {"gat": 6, "reversible": 5}.get(name, 4)
    assert math.fsum([*found.shares, found.beyond]) == pytest.approx(1)
    # PairNorm takes the mean over all nodes.
    assert found.beyond > 0.01 if name == "pair" else found.beyond == 0


@pytest.mark.parametrize("layers", [1, 2, 6])
def test_plain_averaging_on_a_path_is_the_trinomial_walk(layers, reference):
    """Every layer goes one hop back, one on, or stays, a third each; from the middle no end is met."""
    network = bare(3, 2, layers=layers, hidden=4, heads=1, norm="none", residual="none", activation="none").double()
    for block in network.blocks:
        torch.nn.init.eye_(block.conv.fc.weight)
        torch.nn.init.zeros_(block.conv.attn_l)
    coefficients = np.ones(1)
    for _ in range(layers):
        coefficients = np.convolve(coefficients, [1 / 3] * 3)
    expected = [coefficients[layers], *(2 * coefficients[layers + 1 :])]
    _, _, found = looked(reference, network, path(reference, 2 * layers + 1), [layers])
    assert found.shares == pytest.approx(expected, rel=1e-9)
    assert found.walk == pytest.approx(expected, rel=1e-9)
    assert found.nodes == (1, *[2] * layers)
    assert found.mean_distance == pytest.approx(np.dot(expected, np.arange(layers + 1)))
    assert found.walk_distance == pytest.approx(found.mean_distance)


def test_distances_are_those_against_the_edges(reference):
    """Node 3 of 0 → 1 → 2 → 3 → 4 hears of 0 to 3 and never of 4, which has a weight here and counts as beyond."""
    graph = path(reference, 5, directed=True)
    h = reference.normal(0, 5, 2).requires_grad_()
    weights = torch.diag(torch.tensor([4.0, 3.0, 2.0, 1.0, 10.0], dtype=h.dtype))
    logits = (weights @ h).sum(dim=0, keepdim=True).expand(5, 2)
    found = reach(graph, h, logits, torch.tensor([3]), hops=3)
    assert found.shares == pytest.approx((0.05, 0.1, 0.15, 0.2))
    assert (found.beyond, found.nodes) == (pytest.approx(0.5), (1, 1, 1, 1))
    assert found.mean_distance == pytest.approx((0.1 + 0.3 + 0.6) / 0.5)
    nearer = reach(graph, h, logits, torch.tensor([3]), hops=1)
    assert (nearer.shares, nearer.beyond) == (pytest.approx((0.05, 0.1)), pytest.approx(0.85))
    # Two steps back from 3, each to the node before or not at all.
    assert reach(graph, h, logits, torch.tensor([3]), hops=2).walk == pytest.approx((0.25, 0.5, 0.25))


def test_shares_do_not_know_the_scale_of_logits_nor_a_rotation_of_features(reference):
    graph, network = path(reference, 9), network_called("gat", reference)
    h, logits, found = looked(reference, network, graph, [3, 5])
    scaled = reach(graph, h, -1e30 * logits, torch.tensor([3, 5]), network.hops)
    assert scaled.shares == pytest.approx(found.shares)
    rotation = torch.linalg.qr(reference.normal(4, 4, 4)).Q
    turned = (h.detach() @ rotation).requires_grad_()
    blocks = turned @ rotation.T
    for block in network.blocks:
        blocks = block(graph, blocks, turned @ rotation.T)
    again = reach(graph, turned, network.decoder(blocks), torch.tensor([3, 5]), network.hops)
    assert again.shares == pytest.approx(found.shares)


def test_a_target_that_depends_on_nothing_counts_for_no_share(reference):
    graph, h = path(reference, 4), reference.normal(0, 4, 2).requires_grad_()
    factors = torch.tensor([0.0, 1.0, 1.0, 1.0], dtype=h.dtype).unsqueeze(1)
    found = reach(graph, h, factors * h, torch.arange(2), hops=1)
    assert (found.targets, found.shares, found.beyond) == (2, (1, 0), 0)
    for factor in (0, math.inf):
        nothing = reach(graph, h, factor * h, torch.arange(2), hops=1)
        assert all(map(math.isnan, (*nothing.shares, nothing.beyond, nothing.mean_distance)))
        assert nothing.walk_distance > 0


def test_targets_are_drawn_once_and_the_same_again():
    candidates = torch.arange(100, 200)
    chosen = choose_targets(candidates, 16)
    assert len(set(chosen.tolist())) == 16 and set(chosen.tolist()) <= set(candidates.tolist())
    assert torch.equal(chosen, choose_targets(candidates, 16))
    assert not torch.equal(chosen, choose_targets(candidates, 16, seed=1))
    assert torch.equal(choose_targets(candidates, 1000), candidates)
