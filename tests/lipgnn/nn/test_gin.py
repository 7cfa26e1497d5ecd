"""GINConv against the sum and the MLP of its docstring."""

from __future__ import annotations

import numpy as np
import pytest
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
