"""GroupedHeadsConv: multi-query and grouped-query attention, as plain heads and as shared ones."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.errors import UsageError
from lipgnn.nn import GroupedHeadsConv, SharedHeadsConv, TransformerConv
from lipgnn.spec.network import NetworkSpec

pytestmark = pytest.mark.usefixtures("each_kernel")

CASES = [(None, "node"), ("lip", "node"), ("lip", "graph")]


def outputs(conv, graph, x):
    x = x.clone().requires_grad_()
    out = conv(graph, x)
    out.sin().sum().backward()
    return out.detach(), x.grad


@pytest.mark.parametrize("norm, query_norm", CASES)
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_it_is_the_plain_layer_whose_keys_are_equal_within_a_group(groups, norm, query_norm, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    options = {"norm": norm, "query_norm": query_norm, "kappa": 0.5}
    conv = reference.redraw(GroupedHeadsConv(3, 2, 4, groups=groups, **options), seed=1)
    plain = TransformerConv(3, 2, 4, **options).double()
    state = {name: tensor for name, tensor in conv.state_dict().items() if name != "scale"}
    for name in ("key.weight", "key.bias"):
        state[name] = state[name].unflatten(0, (groups, 2)).repeat_interleave(4 // groups, dim=0).flatten(0, 1)
    plain.load_state_dict(state)
    for actual, expected in zip(outputs(conv, graph, x), outputs(plain, graph, x), strict=True):
        torch.testing.assert_close(actual, expected, atol=1e-12, rtol=1e-12)
    of_keys = plain.key.weight.grad.unflatten(0, (groups, 4 // groups, 2)).sum(dim=1).flatten(0, 1)
    torch.testing.assert_close(conv.key.weight.grad, of_keys, atol=1e-12, rtol=1e-12)
    assert conv.lipschitz_bound(graph) == pytest.approx(plain.lipschitz_bound(graph), rel=1e-12)


@pytest.mark.parametrize("norm, query_norm", CASES)
@pytest.mark.parametrize("groups, shared_dim", [(1, 3), (2, 2), (2, 8), (4, 12)])
def test_it_is_shared_heads_with_blocks_of_ones_and_tied_keys(groups, shared_dim, norm, query_norm, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    options = {"norm": norm, "query_norm": query_norm, "kappa": 0.5}
    conv = reference.redraw(GroupedHeadsConv(3, 2, 4, groups=groups, shared_dim=shared_dim, **options), seed=1)
    width = shared_dim // groups
    shared = SharedHeadsConv(3, 2, 4, shared_dim=4 * width, mixing_init="block", **options).double()
    state = dict(conv.state_dict()) | {"mixing": shared.mixing.detach()}
    for name in ("key.weight", "key.bias"):
        state[name] = state[name].unflatten(0, (groups, width)).repeat_interleave(4 // groups, dim=0).flatten(0, 1)
    shared.load_state_dict(state)
    for actual, expected in zip(outputs(conv, graph, x), outputs(shared, graph, x), strict=True):
        torch.testing.assert_close(actual, expected, atol=1e-12, rtol=1e-12)
    assert conv.lipschitz_bound(graph) == pytest.approx(shared.lipschitz_bound(graph), rel=1e-12)


@settings(max_examples=20, deadline=None)
@given(
    data=st.data(),
    groups=st.sampled_from([1, 2]),
    kappa=st.sampled_from([0.5, 1.0, 4.0]),
    seed=st.integers(0, 2**16),
)
def test_the_jacobian_stays_within_the_bound(data, groups, kappa, seed, reference):
    graph = data.draw(reference.graphs(complete="entered", max_nodes=5))
    conv = reference.redraw(GroupedHeadsConv(4, 2, 2, groups=groups, norm="lip", kappa=kappa), seed=seed)
    x = 10 ** (2 * reference.normal(seed + 1, graph.num_nodes(), 1)) * reference.normal(seed + 2, graph.num_nodes(), 4)
    assert reference.spectral_norm(reference.jacobian(partial(conv, graph), x)) <= conv.lipschitz_bound(graph)


def test_the_number_of_weights():
    conv = GroupedHeadsConv(12, 4, 8, groups=2, bias=False)
    assert conv.query.weight.shape == (32, 12) and conv.key.weight.shape == (8, 12)
    narrow = GroupedHeadsConv(12, 4, 8, groups=2, shared_dim=6)
    assert narrow.query.weight.shape == (24, 12) and narrow.key.weight.shape == (6, 12)
    assert narrow.value.weight.shape == (32, 12)


def test_the_scale_is_that_of_the_heads_and_part_of_the_state():
    conv = GroupedHeadsConv(12, 4, 8, shared_dim=3).double()
    assert conv.state_dict()["scale"].item() == 1 / math.sqrt(4)


@pytest.mark.parametrize("options", [{"groups": 0}, {"groups": 3}, {"groups": 2, "shared_dim": 5}, {"shared_dim": 0}])
def test_groups_that_do_not_fit_are_refused(options):
    with pytest.raises(UsageError, match="groups must divide the heads and shared_dim"):
        GroupedHeadsConv(4, 2, 4, **options)


def test_a_specification_makes_the_layer_and_half_of_it_for_half_of_the_width():
    options = {"model": "gt", "hidden": 4, "heads": 4, "norm": "lip"}
    conv = GroupedHeadsConv.from_spec(NetworkSpec(**options, head_sharing="gqa:2", shared_dim=12), 16)
    assert (conv.groups, conv.shared_dim) == (2, 12)
    assert GroupedHeadsConv.from_spec(NetworkSpec(**options, head_sharing="gqa:2", shared_dim=12), 8).shared_dim == 6
    one = GroupedHeadsConv.from_spec(NetworkSpec(**options, head_sharing="mqa"), 16)
    assert (one.groups, one.shared_dim) == (1, 4)


def test_the_maps_are_those_of_heads_and_groups():
    conv = GroupedHeadsConv(4, 2, 4, groups=2)
    assert [linear.heads for linear in conv.maps] == [4, 2, 4, 1]
    assert [linear.module for linear in conv.maps] == [conv.query, conv.key, conv.value, conv.skip]
