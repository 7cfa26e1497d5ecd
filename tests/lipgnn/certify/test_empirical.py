"""The largest singular values of Jacobians against those of the whole matrices."""

import math

import pytest
import torch
from networks import bare

from lipgnn.certify import empirical_bounds, layer_bounds
from lipgnn.certify.empirical import largest_stretch


@pytest.mark.parametrize("shape", [(3, 8), (8, 3), (1, 5)])
def test_of_a_linear_map_it_is_the_largest_singular_value(shape, reference):
    weight = reference.normal(1, *shape)
    found = largest_stretch(
        lambda x: x @ weight.t(),
        reference.normal(2, 4, shape[1]),
    )
    # It has at most three different singular values, so three directions are enough.
    assert found == pytest.approx(reference.spectral_norm(weight), rel=1e-6)
    assert found <= reference.spectral_norm(weight) * (1 + 1e-12)


def test_more_iterations_never_find_less(reference):
    weight = reference.normal(1, 30, 30)
    found = [largest_stretch(lambda x: x @ weight, reference.normal(2, 1, 30), k) for k in (1, 2, 5, 20)]
    assert found == sorted(found) and found[0] < found[-1]


def test_a_single_node_that_is_stretched_is_found_among_ten_thousand(reference):
    """As in a residual network: all but one are left as they are."""
    sizes = torch.ones(10_000, 1).double()
    sizes[1234] = 1.5
    assert largest_stretch(lambda x: sizes * x, reference.normal(0, 10_000, 1)) == pytest.approx(1.5, rel=0.01)


def test_constants_overflow_and_the_origin(reference):
    x = reference.normal(0, 4, 3)
    assert largest_stretch(lambda x: 0 * x, x) == 0
    assert largest_stretch(lambda x: 1e308 * (1e308 * x), x) == math.inf
    assert largest_stretch(lambda x: 2 * x, torch.zeros(4, 3).double()) == pytest.approx(2)


@pytest.mark.parametrize(
    "options",
    [
        {"norm": "none"},
        {"norm": "lip", "residual": "identity", "weight_norm": "cap:1"},
        {"norm": "lip", "residual": "initial", "mlp": "2x"},
        {"model": "gt", "norm": "lip+batch", "residual": "scaled", "stack": "reversible"},
        {"model": "gcn", "residual": "gated", "activation": "gelu"},
        {"model": "gin", "residual": "identity"},
        {"model": "ggnn"},
        {"encoder": "none", "norm": "lip", "residual": "linear"},
    ],
)
def test_of_every_block_it_is_that_of_the_whole_jacobian(options, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    torch.manual_seed(0)
    deep = reference.redraw(bare(3, 2, **{"layers": 3, "hidden": 2, "heads": 2} | options), seed=1).eval()
    found = empirical_bounds(deep, graph, x)
    inputs = deep.encoder(x).detach()
    start = inputs if deep.needs_start else None
    certified = layer_bounds(deep, graph)
    for block, stretch, bound in zip(deep.blocks, found, certified, strict=True):
        whole = reference.spectral_norm(reference.jacobian(lambda x, b=block: deep.run([b], graph, x, start), inputs))
        assert 0.99 * whole <= stretch <= whole * (1 + 1e-9)
        assert stretch <= bound.value
        inputs = deep.run([block], graph, inputs, start).detach()


def test_sparse_features_and_dropout_make_no_difference(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    deep = reference.redraw(bare(3, 2, layers=2, hidden=2, heads=2, dropout=0.5, layer_dropout=0.5), seed=1).train()
    assert empirical_bounds(deep, graph, x.to_sparse().coalesce()) == pytest.approx(empirical_bounds(deep, graph, x))
