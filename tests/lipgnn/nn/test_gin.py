"""GINConv against the sum and the MLP of its docstring."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.nn import GINConv


def mlp(state: dict[str, np.ndarray], x: np.ndarray, *, training: bool) -> np.ndarray:
    """Linear, BatchNorm, ReLU, Linear."""
    x = x @ state["apply_func.0.weight"].T + state["apply_func.0.bias"]
    mean = x.mean(axis=0) if training else state["apply_func.1.running_mean"]
    variance = x.var(axis=0) if training else state["apply_func.1.running_var"]
    x = (x - mean) / np.sqrt(variance + 1e-5) * state["apply_func.1.weight"] + state["apply_func.1.bias"]
    return np.maximum(x, 0) @ state["apply_func.3.weight"].T + state["apply_func.3.bias"]


@settings(max_examples=25, deadline=None)
@given(data=st.data(), training=st.booleans())
def test_a_node_and_its_neighbours_are_summed_once_each(data, training, reference):
    graph = data.draw(reference.graphs().filter(lambda graph: graph.num_nodes() > 1))
    conv = reference.redraw(GINConv(4, 3), seed=1).train(training)
    conv.apply_func[1].running_mean += reference.normal(5, 3)
    state = {name: array.copy() for name, array in reference.arrays(conv).items()}
    x = reference.normal(2, graph.num_nodes(), 4)
    total = np.zeros((graph.num_nodes(), 4))
    for j, i in reference.edges_of(graph):  # a self-loop is the term x_i itself
        total[i] += x[j].numpy()
    np.testing.assert_allclose(conv(graph, x).detach(), mlp(state, total, training=training), atol=1e-9)


@pytest.mark.parametrize("loops", [True, False])
def test_the_own_features_come_from_the_self_loop_alone(loops, reference):
    graph = reference.build([(0, 1)] + ([(0, 0), (1, 1)] if loops else []), nodes=2)
    conv = reference.redraw(GINConv(4, 3), seed=1).eval()
    x = reference.normal(2, 2, 4)
    first, second = x.numpy()
    total = np.stack([first, first + second] if loops else [0 * first, first])
    np.testing.assert_allclose(conv(graph, x).detach(), mlp(reference.arrays(conv), total, training=False), atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(data=st.data(), complete=st.sampled_from(["loops", "nothing"]), seed=st.integers(0, 99))
def test_the_jacobian_stays_within_the_bound(data, complete, seed, reference):
    graph = data.draw(reference.graphs(complete=complete))
    conv = reference.redraw(GINConv(3, 4), seed=seed).eval()
    conv.apply_func[1].running_var.copy_(reference.normal(seed, 4).abs() / 10)
    x = reference.normal(seed + 1, graph.num_nodes(), 3)
    assert reference.spectral_norm(reference.jacobian(partial(conv, graph), x)) <= conv.certified(graph).value + 1e-12


def test_the_bound_is_reached_where_nothing_is_cut_off(reference):
    """On a complete graph the adjacency matrix stretches equal features by their number, and no ReLU is off."""
    graph = reference.build([(j, i) for i in range(3) for j in range(3)], nodes=3)
    conv = reference.redraw(GINConv(2, 2), seed=1).eval()
    with torch.no_grad():
        conv.apply_func[0].bias.fill_(1e3)
        conv.apply_func[1].weight.abs_()
    scale = conv.apply_func[1].weight.detach() / math.sqrt(1 + 1e-5)
    maps = [conv.apply_func[3].weight.detach(), scale[:, None] * conv.apply_func[0].weight.detach()]
    stretch = reference.spectral_norm(reference.jacobian(partial(conv, graph), reference.normal(0, 3, 2)))
    assert stretch == pytest.approx(3 * reference.spectral_norm(maps[0] @ maps[1]), rel=1e-10)
    bound = 3 * reference.spectral_norm(maps[0]) * reference.spectral_norm(maps[1])
    assert conv.certified(graph).value == pytest.approx(bound, rel=1e-10)
