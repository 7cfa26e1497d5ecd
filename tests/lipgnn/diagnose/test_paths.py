"""Paths one by one, as products of dense matrices in numpy, beside the sums over edges."""

from __future__ import annotations

import itertools
import math
from functools import reduce

import numpy as np
import pytest
import torch
from networks import bare

from lipgnn.catalog import ADDITIVE
from lipgnn.diagnose.paths import path_shares, single_paths
from lipgnn.errors import RunFailed, UsageError
from lipgnn.nn import GATConv

PURE = [("gat", {}), ("gt", {"skip": "none"}), ("gat", {"encoder": "none"})]
SKIPPING = [
    ("gat", {"residual": "identity"}),
    ("gat", {"residual": "scaled", "norm": "lip"}),
    ("gat", {"residual": "identity", "weight_norm": "fix:4/L"}),
    ("gatv2", {"residual": "identity", "norm": "lip"}),
    ("gt", {}),
    ("gt", {"encoder": "none"}),
    ("gt", {"residual": "identity"}),
    ("gt", {"residual": "scaled", "skip": "none"}),
]


def network(reference, model="gat", **options):
    """Three layers of two heads, width 4, with biases, in float64."""
    torch.manual_seed(0)
    deep = bare(3, 2, **{"model": model, "layers": 3, "hidden": 2, "heads": 2, "activation": "none"} | options)
    if "weight_norm" in options:
        return deep.double()
    return reference.redraw(deep, seed=1)


def dense(reference, deep, graph, x):
    """X⁰, for every layer {head: (P, W)} with 0 for what passes by and its bias, and X^L, by loops and matrices."""
    edges, nodes = reference.edges_of(graph), graph.num_nodes()
    start = x.numpy()
    if not deep.bare:
        start = start @ deep.encoder.weight.detach().numpy().T + deep.encoder.bias.detach().numpy()
    layers, y = [], start
    for block in deep.blocks:
        conv, steps = block.conv, {}
        kappa = conv.norm and conv.norm.kappa
        maps = {name: module for name, module in conv.named_children() if isinstance(module, torch.nn.Linear)}
        weight = {name: module.weight.detach().numpy() for name, module in maps.items()}
        bias = {name: module.bias.detach().numpy() for name, module in maps.items() if module.bias is not None}
        if hasattr(conv, "fc"):
            value = reference.heads(y @ weight["fc"].T, 2)
            attn = conv.attn_l[0].detach().numpy(), conv.attn_r[0].detach().numpy()
            scores = reference.additive_scores(edges, value, *attn, kappa)
            scores = np.where(scores > 0, scores, 0.2 * scores)
            map_, added = weight["fc"], conv.bias.detach().numpy()
        elif hasattr(conv, "fc_src"):
            value = reference.heads(y @ weight["fc_src"].T, 2)
            query = reference.heads(y @ weight["fc_dst"].T + bias["fc_dst"] + bias["fc_src"], 2)
            scores = reference.dynamic_scores(edges, value, query, conv.attn[0].detach().numpy(), kappa)
            map_, added = weight["fc_src"], bias["fc_src"]
        else:
            query, key, value = (reference.heads(y @ weight[k].T + bias[k], 2) for k in ("query", "key", "value"))
            scores = reference.dot_scores(edges, query, key, value, kappa)
            map_, added = weight["value"], bias["value"] + bias.get("skip", 0)
        attention = reference.attend(edges, scores, value)[1]
        for h in range(2):
            matrix, columns = np.zeros((nodes, nodes)), np.zeros((y.shape[1], 4))
            for e, (j, i) in enumerate(edges):
                matrix[i, j] += attention[e, h]
            columns[:, 2 * h : 2 * h + 2] = map_.T[:, 2 * h : 2 * h + 2]
            steps[h + 1] = matrix, block.scale * columns
        kept = [np.eye(4)] * (block.residual != "none") + [block.scale * w.T for k, w in weight.items() if k == "skip"]
        if kept:
            steps[0] = np.eye(nodes), sum(kept)
        layers.append((steps, block.scale * added))
        y = sum(p @ y @ w for p, w in steps.values()) + block.scale * added
    return start, layers, y


def path_terms(start, layers):
    """Every path and what it alone makes of the start."""
    for path in itertools.product(*(sorted(steps) for steps, _ in layers)):
        taken = [steps[head] for head, (steps, _) in zip(path, layers, strict=True)]
        left = reduce(lambda product, step: step[0] @ product, taken, np.eye(len(start)))
        right = reduce(lambda product, step: product @ step[1], taken, np.eye(start.shape[1]))
        yield path, left @ start @ right


def numbers(part, output, labels):
    """Share, size and residual by their definitions."""

    def composite(m):
        return math.sqrt(abs(m).sum(axis=0).max() * abs(m).sum(axis=1).max())

    rest = np.concatenate([part[labels == k] - part[labels == k].mean(axis=0) for k in np.unique(labels)])
    square = (output**2).sum()
    return (part * output).sum() / square, math.sqrt((part**2).sum() / square), composite(rest) / composite(part)


def close(part, expected):
    return (part.share, part.size, part.residual) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("model", "options"), PURE + SKIPPING)
def test_the_sum_of_all_paths_is_the_output(model, options, reference):
    """R2, R9: 8 paths without a skip and 27 with one, of two heads and three layers, one by one and by length."""
    deep, graph, x = network(reference, model, **options), reference.small_graph(), reference.normal(5, 7, 3)
    start, layers, output = dense(reference, deep, graph, x)
    with torch.no_grad():
        ours = deep.run(deep.blocks, graph, deep.encoder(x)).numpy()
    np.testing.assert_allclose(output, ours, rtol=0, atol=1e-10 * abs(ours).max())
    terms = dict(path_terms(start, layers))
    assert len(terms) == (27 if (model, options) in SKIPPING else 8)
    constant = np.zeros((1, start.shape[1]))
    for steps, bias in layers:
        constant = sum(constant @ w for _, w in steps.values()) + bias
    np.testing.assert_allclose(sum(terms.values()) + constant, ours, rtol=0, atol=1e-10 * abs(ours).max())

    labels = np.array([0, 0, 0, 0, 0, 0, 1])
    singles = single_paths(deep, graph, x, count=27)
    assert singles.keys() == terms.keys()
    for path, term in terms.items():
        assert close(singles[path], numbers(term, output, labels)), path

    shares = path_shares(deep, graph, x)
    by_length = {}
    for path, term in terms.items():
        by_length.setdefault(sum(head > 0 for head in path), []).append(term)
    assert shares.counts == {length: len(group) for length, group in sorted(by_length.items())}
    for length, group in by_length.items():
        assert close(shares.lengths[length], numbers(sum(group), output, labels)), length
    assert shares.bias.share == pytest.approx((constant * output).sum() / (output**2).sum())
    assert sum(part.share for part in shares.lengths.values()) + shares.bias.share == pytest.approx(1, abs=1e-10)
    assert shares.error < 1e-10


def test_paths_are_those_of_the_network_without_dropout_in_float64(reference):
    """And the network stays as it was."""
    options = {"residual": "identity", "dropout": 0.5, "layer_dropout": 0.5, "attn_dropout": 0.5}
    deep, graph, x = network(reference, **options).float(), reference.small_graph(), reference.normal(5, 7, 3).float()
    shares = path_shares(deep, graph, x)
    assert shares.error < 1e-10
    assert shares == path_shares(deep.double().eval(), graph, x.double())
    assert path_shares(deep.train(), graph, x.double()) == shares
    assert deep.training


def test_many_layers_and_heads_need_no_enumeration(reference):
    """(4 + 1)^40 paths; the sum is exact all the same."""
    torch.manual_seed(0)
    deep = bare(3, 2, layers=40, hidden=2, heads=4, activation="none", residual="scaled")
    shares = path_shares(deep, reference.small_graph(), reference.normal(5, 7, 3, dtype=torch.float32))
    assert sum(shares.counts.values()) == 5**40
    assert shares.error < 1e-10
    assert sum(part.share for part in shares.lengths.values()) + shares.bias.share == pytest.approx(1, abs=1e-10)


def test_some_paths_of_a_length_are_drawn_by_a_seed(reference):
    deep, graph, x = network(reference, residual="identity"), reference.small_graph(), reference.normal(5, 7, 3)
    every = single_paths(deep, graph, x, count=27)
    some = single_paths(deep, graph, x, count=3, length=2, seed=1)
    assert len(some) == 3
    assert all(sum(head > 0 for head in path) == 2 and every[path] == part for path, part in some.items())
    assert some == single_paths(deep, graph, x, count=3, length=2, seed=1)


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"activation": "elu"}, "activations", "--activation none"),
        ({"norm": "lip+layer"}, "feature norms", "--norm"),
        ({"norm": "pair", "norm_place": "sum"}, "feature norms", "--norm"),
        ({"mlp": "2x"}, "MLPs", "--mlp none"),
        ({"residual": "gated"}, "gates", "--residual identity"),
        ({"residual": "initial"}, "first features", "--residual identity"),
        ({"stack": "reversible", "residual": "identity"}, "reversible", "--stack plain"),
        ({"model": "gcn"}, "without attention", "--model gat"),
    ],
)
def test_what_is_no_sum_over_paths_is_refused_by_name(options, message, hint, reference):
    deep, graph, x = network(reference, **options), reference.small_graph(), reference.normal(5, 7, 3)
    for decompose in (path_shares, lambda *given: single_paths(*given, count=1)):
        with pytest.raises(UsageError, match=message) as refused:
            decompose(deep, graph, x)
        assert hint in refused.value.hint


def test_a_layer_that_does_not_name_the_map_of_its_values_is_refused(reference):
    class Own(GATConv):
        attention = ADDITIVE

        def forward(self, graph, feat, get_attention=False):
            return super().forward(graph, 2 * feat, get_attention)

    deep = network(reference)
    for block in deep.blocks:
        block.conv.__class__ = Own
    with pytest.raises(UsageError, match="Own does not name the map of its values"):
        path_shares(deep, reference.small_graph(), reference.normal(5, 7, 3))


@pytest.mark.parametrize("factor", [0.0, math.nan])
def test_shares_of_nothing_and_of_what_is_not_finite_are_refused(factor, reference):
    deep, graph = network(reference), reference.small_graph()
    with torch.no_grad():
        for parameter in deep.parameters():
            parameter.mul_(factor)
    with pytest.raises(RunFailed, match="relative error"):
        path_shares(deep, graph, reference.normal(5, 7, 3))


def test_no_tensor_is_made_on_a_default_device(reference):
    deep, graph, x = network(reference, "gt"), reference.small_graph(), reference.normal(5, 7, 3)
    expected = path_shares(deep, graph, x), single_paths(deep, graph, x, count=27)
    with torch.device("meta"):
        assert (path_shares(deep, graph, x), single_paths(deep, graph, x, count=27)) == expected
