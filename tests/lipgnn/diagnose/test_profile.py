"""A profile beside definitions in numpy on a tiny network; what it leaves behind; networks that are not finite."""

from __future__ import annotations

import math
import weakref

import numpy as np
import pytest
import torch
from networks import bare
from toys import options_of

from lipgnn.catalog import find_task
from lipgnn.diagnose import profile as module
from lipgnn.diagnose.data import WholeData
from lipgnn.diagnose.profile import COLUMNS, profile
from lipgnn.network.blocks import Branch
from lipgnn.tasks.batches import Batch
from lipgnn.training.divergence import first_nonfinite_output

LAYERS = 3


def whole(graph, features, classes=3):
    labels = torch.arange(graph.num_nodes()) % classes
    everyone = torch.arange(graph.num_nodes())
    parts = {"train": everyone[:5], "val": everyone[5:6], "test": everyone[6:]}
    return WholeData(find_task("nodes"), Batch(graph, features, everyone), labels, parts)


@pytest.fixture
def data(reference):
    # Two components, of which one is a node with its loop.
    return whole(reference.small_graph(), reference.normal(1, 7, 4))


def network_of(**options):
    torch.manual_seed(0)
    return bare(4, 3, layers=LAYERS, hidden=3, heads=2, **{"residual": "identity", **options}).double().eval()


def by_hand(network, data):
    """X^(0) … X^(L) and the gradients of the loss there, without hooks."""
    states = [network.encoder(data.features)]
    for block in network.blocks:
        states.append(
            block(data.graph, states[-1], states[0]) if network.needs_start else block(data.graph, states[-1])
        )
    for state in states:
        state.retain_grad()
    torch.nn.functional.cross_entropy(network.decoder(states[-1])[:5], data.labels[:5]).backward()
    weights = [
        math.sqrt(sum(p.grad.square().sum().item() for p in block.parameters() if p.dim() == 2))
        for block in network.blocks
    ]
    network.zero_grad()
    return [state.detach().numpy() for state in states], [state.grad.numpy() for state in states], weights


def composite(m):
    return math.sqrt(np.abs(m).sum(0).max() * np.abs(m).sum(1).max())


def expected_row(x, gradient, edges):
    values = np.linalg.svd(x, compute_uv=False)
    shares = values / values.sum()
    degrees = np.bincount([target for _, target in edges], minlength=7)
    scaled = x / np.sqrt(degrees)[:, None]
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    apart = x.copy()
    apart[:6] -= x[:6].mean(axis=0)
    apart[6] = 0
    return {
        "grad_norm": np.linalg.norm(gradient),
        "grad_mu": np.linalg.norm(gradient - gradient.mean(axis=0)),
        "grad_ratio": np.linalg.norm(gradient - gradient.mean(axis=0)) / np.linalg.norm(gradient),
        "feat_norm": np.linalg.norm(x),
        "feat_mu": np.linalg.norm(x - x.mean(axis=0)),
        "feat_ratio": np.linalg.norm(x - x.mean(axis=0)) / np.linalg.norm(x),
        "dirichlet": sum(np.sum((scaled[i] - scaled[j]) ** 2) for j, i in edges) / 2,
        "mad": np.mean([1 - unit[i] @ unit[j] for j, i in edges if i != j]),
        "effective_rank": math.exp(-sum(p * math.log(p) for p in shares if p > 0)),
        "rank": np.linalg.matrix_rank(x),
        "rank1_residual": composite(apart) / composite(x),
    }


@pytest.mark.parametrize(
    "options",
    [
        {"model": "gat", "norm": "none"},
        {"model": "gt", "norm": "lip+layer", "residual": "none"},
        {"model": "gcn", "residual": "initial"},
        {"encoder": "none", "residual": "linear", "norm": "lip+batch"},
        {"model": "gat", "norm": "lip", "mlp": "2x", "weight_norm": "fix:4/L", "norm_place": "pre"},
    ],
    ids=lambda options: "-".join(options.values()),
)
def test_every_number_is_what_its_definition_gives(data, reference, options):
    network = network_of(**options)
    states, gradients, weights = by_hand(network, data)
    rows = profile(network, data).layers
    assert [row["layer"] for row in rows] == list(range(LAYERS + 1))
    for row, x, gradient in zip(rows, states, gradients, strict=True):
        for name, value in expected_row(x, gradient, reference.edges_of(data.graph)).items():
            assert row[name] == pytest.approx(value, rel=1e-9), (row["layer"], name)
    for before, row, weight in zip(rows, rows[1:], weights, strict=False):
        assert row["weight_grad"] == pytest.approx(weight)
        assert row["contraction"] == pytest.approx(row["rank1_residual"] / before["rank1_residual"])
    assert [row["weight_grad"] for row in rows[:1]] == [None]


def test_of_a_deep_network_some_layers_are_looked_at_closely_and_all_if_asked(data, monkeypatch):
    monkeypatch.setattr(module, "CLOSE_LAYERS", 3)
    torch.manual_seed(0)
    network = bare(4, 3, layers=8, hidden=3, heads=2, norm="lip", residual="scaled").double()
    some, every = profile(network, data).layers, profile(network, data, every_layer=True).layers
    close = {"dirichlet", "mad", "effective_rank", "rank", "entropy", "saturated"}
    for row, whole_row in zip(some, every, strict=True):
        looked = row["layer"] in (0, 3, 6, 8)
        assert row == {name: value if looked or name not in close else None for name, value in whole_row.items()}


def test_the_share_of_the_skip_is_of_what_the_layer_adds(data):
    network = network_of(model="gat", norm="none", residual="scaled")
    states, _, _ = by_hand(network, data)
    rows = profile(network, data).layers
    for before, x, row in zip(states, states[1:], rows[1:], strict=False):
        kept, added = composite(before), composite(x - before)
        assert row["skip_share"] == pytest.approx(kept / (kept + added))
    assert profile(network_of(residual="none"), data).layers[1]["skip_share"] is None


def test_entropy_and_saturation_of_all_nodes_where_they_are_few(data, reference):
    network = network_of(model="gt", norm="none")
    with torch.no_grad():
        for block in network.blocks:
            block.conv.query.weight.mul_(30)
    targets = np.array([target for _, target in reference.edges_of(data.graph)])
    several = [node for node in range(7) if (targets == node).sum() > 1]
    attention = [weights.numpy() for weights in network.attention(data.graph, data.features)]
    for row, weights in zip(profile(network, data).layers[1:], attention, strict=True):
        entropies, largest = [], []
        for node in several:
            for head in weights[targets == node].T:
                entropies.append(-sum(p * math.log(p) for p in head if p > 0) / math.log(len(head)))
                largest.append(head.max())
        assert row["entropy"] == pytest.approx(np.mean(entropies))
        assert row["saturated"] == pytest.approx(np.mean(np.array(largest) > 0.99))


@pytest.mark.parametrize("model", ["gat", "gatv2", "gt"])
@pytest.mark.parametrize("norm", ["none", "lip"])
def test_a_sample_of_nodes_has_the_attention_they_have_in_the_whole_graph(reference, monkeypatch, model, norm):
    """All nodes of the sample have the attention of the whole network, so their mean is theirs."""
    monkeypatch.setattr(module, "SAMPLE", 3)
    data = whole(reference.small_graph(), reference.normal(2, 7, 4))
    network = network_of(model=model, norm=norm)
    chosen = [0, 2, 4, 6]
    targets = np.array([target for _, target in reference.edges_of(data.graph)])
    attention = [weights.numpy() for weights in network.attention(data.graph, data.features)]
    for row, weights in zip(profile(network, data).layers[1:], attention, strict=True):
        entropies = [
            -sum(p * math.log(p) for p in head) / math.log(len(head))
            for node in chosen
            for head in weights[targets == node].T
            if len(head) > 1
        ]
        assert row["entropy"] == pytest.approx(np.mean(entropies))


@pytest.mark.parametrize("options", [{"norm": "pair", "norm_place": "pre"}, {"norm": "lip", "stack": "reversible"}])
def test_where_attention_depends_on_more_than_neighbours_it_is_that_of_all_nodes(data, monkeypatch, options):
    network = bare(4, 3, layers=2, hidden=4, heads=2, residual="identity", **options).double().eval()
    of_all = [row["entropy"] for row in profile(network, data).layers]
    monkeypatch.setattr(module, "SAMPLE", 1)
    assert [row["entropy"] for row in profile(network, data).layers] == of_all


@pytest.mark.usefixtures("toys")
@pytest.mark.parametrize("toy, place", [("score norm", "branch"), ("feature norm", "pre")])
def test_attention_is_sampled_where_all_that_it_depends_on_says_that_it_is_local(data, monkeypatch, toy, place):
    for speech, sampled in (("silent", False), ("speaking", True)):
        network = network_of(**options_of(toy, speech), norm_place=place)
        of_all = [row["entropy"] for row in profile(network, data).layers[1:]]
        with monkeypatch.context() as patch:
            patch.setattr(module, "SAMPLE", 3)
            of_some = [row["entropy"] for row in profile(network, data).layers[1:]]
        assert (of_some != of_all) == sampled


def test_the_layers_of_a_reversible_stack_are_seen_as_well(data):
    network = bare(4, 3, layers=2, hidden=4, heads=2, stack="reversible", residual="identity").double().eval()
    rows = profile(network, data).layers
    assert all(row["grad_norm"] > 0 and row["feat_norm"] > 0 for row in rows)


def test_bounds_stand_beside_what_is_found(data):
    network = network_of(norm="lip", weight_norm="cap:1")
    found = profile(network, data, certify=True)
    assert all(0 < row["empirical"] <= row["bound"] for row in found.layers[1:])
    assert found.unbounded is None
    plain = profile(network_of(norm="none"), data)
    assert [row["bound"] for row in plain.layers] == [None] * (LAYERS + 1)
    assert "not Lipschitz" in plain.unbounded


def test_the_same_network_has_the_same_profile_and_is_left_as_it_was(data):
    network = network_of(norm="lip+batch", dropout=0.5, layer_dropout=0.5, attn_dropout=0.5)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    first, second = profile(network, data), profile(network.train(), data)
    assert first == second
    assert set(first.layers[0]) == set(COLUMNS)
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, before[name])
    assert all(p.grad is None for p in network.parameters())
    assert not any(block._forward_hooks for block in network.blocks)


def test_attention_is_gone_before_the_next_layer_and_features_when_all_is_over(data, monkeypatch):
    seen = []
    original = Branch.spread

    def spread(self, graph, x):
        assert all(one() is None for one in seen)
        found = original(self, graph, x)
        seen.append(weakref.ref(found.entropy))
        return found

    monkeypatch.setattr(Branch, "spread", spread)
    network = network_of()
    features = []
    for block in network.blocks:
        block.register_forward_hook(lambda _, __, y: features.append(weakref.ref(y)))
    found = profile(network, data)
    assert len(seen) == len(features) == LAYERS
    assert len(found.layers) == LAYERS + 1
    assert all(one() is None for one in features)


def test_what_is_not_finite_is_marked_and_nothing_fails(data):
    network = network_of(model="gat", norm="none").float()
    with torch.no_grad():
        for block in network.blocks:
            block.conv.fc.weight.mul_(1e20)
    data = whole(data.graph, data.features.float())
    where = first_nonfinite_output(network, data.graph, data.features)
    found = profile(network, data)
    first = next(row["layer"] for row in found.layers if row["feat_norm"] is None)
    assert where == f"layer {first}"
    assert found.loss is None
    assert found.layers[0]["feat_norm"] is not None
    assert found.accuracy["train"] is None
    for row in found.layers:
        assert all(value is None or math.isfinite(value) for value in row.values())
