"""Bounds against Jacobians, random pairs of inputs, and decompositions of small networks."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from networks import bare
from toys import TOYS, options_of

from lipgnn.certify import BlockBound, layer_bounds, network_bound
from lipgnn.norms import advance_all

ATTENTION = ("gat", "gatv2", "gt")
# Every kind of block with a bound.
BOUNDED = [
    {"model": model, "residual": residual}
    for model in (*ATTENTION, "gcn", "gin")
    for residual in ("none", "identity", "scaled", "linear", "initial")
    if not (model == "gin" and residual == "initial")
]
BOUNDED += [{"mlp": "2x", "residual": residual} for residual in ("none", "identity", "initial")]
BOUNDED += [{"model": model, "stack": "reversible", "residual": "scaled"} for model in ("gat", "gcn")]
BOUNDED += [{"model": model, "activation": activation} for model in ("gat", "gcn") for activation in ("gelu", "tanh")]
BOUNDED += [
    {"feature": "batch", "norm_place": place, "residual": residual}
    for place in ("branch", "sum", "pre")
    for residual in ("identity", "initial")
]
BOUNDED += [{"jk": jk, "encoder_activation": "gelu", "bias": "none"} for jk in ("sum", "concat", "max")]
BOUNDED += [{"model": model, "weight_norm": "fix:0.5", "residual": "identity"} for model in (*ATTENTION, "gcn", "gin")]
BOUNDED += [
    {"encoder": "none", "model": model, "residual": residual}
    for model in (*ATTENTION, "gcn", "sage")
    for residual in ("none", "linear")
]
BOUNDED += [{"encoder": "none", "feature": "batch", "residual": "linear", "jk": "sum", "mlp": "2x"}]
# Of a linear block the bound is reached, and both sides of the comparison are rounded.
ROUNDING = 1 + 1e-12


def name_of(options):
    return "-".join(map(str, options.values()))


def follow(deep):
    """Let the singular vectors of bounded weights, which are from before the weights were drawn anew, catch up."""
    for _ in range(100):
        advance_all(deep)


def network(reference, seed=1, *, model="gat", feature=None, **options):
    """Three layers of width 4 in float64 and evaluation, with LipschitzNorm where there is attention."""
    torch.manual_seed(0)
    norms = (["lip"] if model in ATTENTION else []) + ([feature] if feature else [])
    deep = bare(
        3, 2, **{"layers": 3, "hidden": 2, "heads": 2, "norm": "+".join(norms) or "none"} | options, model=model
    )
    reference.redraw(deep, seed)
    follow(deep)
    for module in deep.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            module.running_var.copy_(1 / (1 + reference.normal(seed, len(module.running_var)).square()))
    return deep.eval()


@pytest.mark.parametrize("options", BOUNDED, ids=name_of)
def test_no_jacobian_exceeds_the_bound(options, reference):
    graph = reference.small_graph()
    deep = network(reference, **options)
    bounds = layer_bounds(deep, graph)
    for seed in range(2):
        x = 10.0 ** (seed - 1) * reference.normal(seed, 7, 3)
        start = inputs = deep.encode(x).detach()
        first = {"start": start} if deep.needs_start else {}
        for block, bound in zip(deep.blocks, bounds, strict=True):
            of_input = reference.jacobian(partial(block, graph, **first), inputs)
            assert reference.spectral_norm(of_input) <= bound.value * ROUNDING
            if deep.needs_start:
                of_start = reference.jacobian(partial(block, graph, inputs), start)
                assert reference.spectral_norm(of_start) <= bound.start * ROUNDING
            inputs = block(graph, inputs, **first).detach()
        whole = reference.jacobian(partial(deep, graph), x)
        assert reference.spectral_norm(whole) <= network_bound(deep, bounds).value * ROUNDING


@pytest.mark.parametrize("options", BOUNDED[::3], ids=name_of)
def test_no_pair_of_inputs_gets_farther_apart_than_the_bound_allows(options, reference):
    graph = reference.small_graph()
    deep = network(reference, **options)
    bound = network_bound(deep, layer_bounds(deep, graph)).value
    with torch.no_grad():
        for seed in range(20):
            x = reference.normal(seed, 7, 3)
            y = x + 10.0 ** (seed % 5 - 3) * reference.normal(seed + 100, 7, 3)
            assert (deep(graph, x) - deep(graph, y)).norm() <= bound * (x - y).norm()


def test_the_bound_of_a_linear_network_is_the_product_of_its_norms(reference):
    deep = network(reference, model="gcn", activation="none")
    norms = [reference.spectral_norm(block.conv.weight.detach()) for block in deep.blocks]
    ends = [reference.spectral_norm(linear.weight.detach()) for linear in (deep.encoder, deep.decoder)]
    bounds = layer_bounds(deep, reference.small_graph())
    assert [bound.value for bound in bounds] == pytest.approx(norms)
    whole = network_bound(deep, bounds)
    assert whole.value == pytest.approx(math.prod(norms + ends))
    assert (whole.encoder, whole.decoder) == pytest.approx(tuple(ends))
    without = network(reference, model="gcn", activation="none", encoder="none")
    whole = network_bound(without, layer_bounds(without, reference.small_graph()))
    parts = [*(block.conv.weight for block in without.blocks), without.decoder.weight]
    assert whole.encoder == 1 and whole.value == pytest.approx(
        math.prod(reference.spectral_norm(part.detach()) for part in parts)
    )


def test_a_weight_norm_is_the_bound_of_a_gcn(reference):
    deep = network(reference, model="gcn", weight_norm="fix:0.5", residual="identity")
    assert [b.value for b in layer_bounds(deep, reference.small_graph())] == pytest.approx([1.5] * 3)


def test_a_reversible_block_that_only_copies_has_the_golden_ratio_squared(reference):
    """With f and g the identity it is the map ((1, 1), (1, 2)), whose largest singular value is ((1 + √5) / 2)²."""
    graph = reference.build([(i, i) for i in range(3)], nodes=3)
    deep = network(reference, model="gcn", stack="reversible", residual="identity", activation="none", layers=1)
    with torch.no_grad():
        for branch in (deep.blocks[0].f, deep.blocks[0].g):
            branch.conv.weight.copy_(torch.eye(2))
    (bound,) = layer_bounds(deep, graph)
    assert bound.value == pytest.approx(((1 + math.sqrt(5)) / 2) ** 2, rel=1e-12)
    stretch = reference.spectral_norm(reference.jacobian(lambda x: deep.blocks[0](graph, x), reference.normal(0, 3, 4)))
    assert stretch == pytest.approx(bound.value, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"norm": "none"}, "plain attention is not Lipschitz: use --norm lip"),
        ({"model": "gt", "norm": "none"}, "plain attention is not Lipschitz: use --norm lip"),
        ({"norm": "lip-source"}, "no certified bound: use --norm lip"),
        ({"model": "ggnn"}, "use another --model"),
        ({"residual": "gated"}, "use --residual identity"),
        ({"feature": "pair"}, "PairNorm divides"),
        ({"feature": "layer", "norm_place": "sum", "residual": "initial"}, "LayerNorm divides"),
        ({"feature": "layer-graph", "norm_place": "pre"}, "LayerNorm divides"),
        ({"norm": "none", "stack": "reversible", "residual": "identity"}, "plain attention"),
    ],
)
def test_where_there_is_no_bound_it_says_why(options, words, reference):
    deep = network(reference, **options)
    bounds = layer_bounds(deep, reference.small_graph())
    assert all(bound.value == math.inf and words in bound.reason for bound in bounds)
    whole = network_bound(deep, bounds)
    assert whole.value == whole.log10 == math.inf
    assert whole.reason.startswith("layer 1: ") and words in whole.reason


@pytest.mark.usefixtures("toys")
@pytest.mark.parametrize("toy", TOYS)
def test_only_what_says_a_bound_is_certified(toy, reference):
    graph = reference.small_graph()
    silent, speaking = (
        layer_bounds(bare(3, 2, layers=2, hidden=2, heads=2, **options_of(toy, speech)), graph)
        for speech in ("silent", "speaking")
    )
    assert all(bound.value == math.inf and "says no certified bound" in bound.reason for bound in silent)
    assert all(math.isfinite(bound.value) and bound.reason is None for bound in speaking)


def test_products_beyond_all_numbers_are_kept_as_logarithms(reference):
    deep = network(reference, model="gcn")
    with torch.no_grad():
        deep.encoder.weight.copy_(torch.eye(4, 3))
        deep.decoder.weight.copy_(torch.eye(2, 4))
    whole = network_bound(deep, [BlockBound(1e200), BlockBound(1e200, None, 1e100), BlockBound(2.0)])
    assert whole.log10 == pytest.approx(400 + math.log10(2))
    assert (whole.value, whole.reason) == (math.inf, None)


def test_what_comes_back_in_every_layer_is_added_up(reference):
    deep = network(reference, model="gcn")
    with torch.no_grad():
        deep.encoder.weight.copy_(torch.eye(4, 3))
        deep.decoder.weight.copy_(torch.eye(2, 4))
    bounds = [BlockBound(2.0, None, 0.5), BlockBound(0.0, None, 0.25), BlockBound(3.0, None, 1.0)]
    assert network_bound(deep, bounds).value == pytest.approx(3 * 0.25 + 1)
    assert network_bound(deep, [BlockBound(0.0)]).value == 0
    assert network_bound(deep, [BlockBound(float(v), None, 1.0) for v in np.ones(9)]).value == pytest.approx(10)
